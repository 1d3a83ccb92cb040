"""The tags of the project's images: which exist, what is in them, and faults of the records that validation must see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from envcheck.matrix.image_tags import ImageTag
from envcheck.matrix.images import Images
from envcheck.matrix.load import Matrix
from envcheck.matrix.validate import validate

Spoil = Callable[[str, Callable[[Any], None]], Path]


@pytest.fixture(scope="session")
def images(matrix: Matrix) -> Images:
    return matrix.images


def short(tags: tuple[ImageTag, ...]) -> list[tuple[str, tuple[int, ...]]]:
    return [(tag.reference.partition(":")[2], tag.cuda) for tag in tags]


@pytest.mark.parametrize(
    ("release", "arch", "expected"),
    [
        # from the release pipelines: one CUDA release, then 13.0 beside 12.9, then the other way round, then 13.0 alone
        ("0.7.3", "x86_64", [("v0.7.3", (12, 1))]),
        ("0.8.5.post1", "x86_64", [("v0.8.5.post1", (12, 4))]),
        ("0.10.1.1", "x86_64", [("v0.10.1.1", (12, 8))]),
        ("0.10.1.1", "aarch64", []),
        ("0.10.2", "x86_64", [("v0.10.2", (12, 8))]),
        ("0.10.2", "aarch64", [("v0.10.2", (12, 9))]),
        ("0.13.0", "aarch64", [("v0.13.0", (12, 9))]),
        ("0.15.1", "x86_64", [("v0.15.1", (12, 9)), ("v0.15.1-cu130", (13, 0))]),
        ("0.26.0", "x86_64", [*((f"v0.26.0{tail}", (13, 0)) for tail in ("", "-ubuntu2404"))]),
        ("0.33.0", "aarch64", [("v0.33.0", (13, 0))]),
        ("0.2.0", "x86_64", []),
        ("0.33.0", "ppc64le", []),
    ],
)
def test_the_images_of_a_release(images: Images, release: str, arch: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    found = [entry for entry in short(images.table.tags(release, arch)) if "-cu129" not in entry[0]]
    assert found == expected


def test_cuda_12_ends_with_0_32_0(images: Images) -> None:
    assert ("v0.32.0-cu129", (12, 9)) in short(images.table.tags("0.32.0", "x86_64"))
    assert {tag.cuda for tag in images.table.tags("0.33.0", "x86_64")} == {(13, 0)}


def test_what_is_inside(images: Images) -> None:
    (old,) = images.table.tags("0.9.2", "x86_64")
    assert (old.os_version, old.glibc, old.python) == ("22.04", "2.35", "3.12")
    new = images.table.tags("0.33.0", "x86_64")[0]
    assert (new.os_version, new.glibc, new.python) == ("24.04", "2.39", "3.12")
    # nvcc of CUDA 13 compiles no code for Volta, that of 12.9 does
    codes = {tag.label: {str(code) for code in tag.gpu_code} for tag in images.table.tags("0.17.0", "x86_64") if not tag.flavour}
    assert "7.0" in codes[""]
    assert "7.0" not in codes["cu130"]


def test_how_a_tag_is_known(images: Images) -> None:
    assert {tag.basis for tag in images.table.tags("0.6.3", "x86_64")} == {"unverified"}  # before any pipeline built one
    assert {tag.basis for tag in images.table.tags("0.15.0", "x86_64")} == {"neighbour"}  # no source distribution
    assert images.table.tags("0.33.0", "x86_64")[0].basis == "pipeline"


def test_tags_of_one_machine(images: Images) -> None:
    names = images.table.names(Version("0.32.0"))
    assert {"v0.32.0", "v0.32.0-x86_64", "v0.32.0-aarch64-cu129", "v0.32.0-x86_64-cu129-ubuntu2404"} <= names
    assert images.table.names(Version("0.9.2")) == {"v0.9.2"}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("vllm/vllm-openai:v0.33.0-cu129", True),
        ("docker.io/vllm/vllm-openai:v0.33.0-ubuntu2404", True),
        ("vllm/vllm-openai:v0.9.2-aarch64", True),
        ("vllm/vllm-openai:v0.32.0-cu129", False),
        ("vllm/vllm-openai:v0.33.0-x86_64-zstd", False),  # there are words that the records do not describe
        ("vllm/vllm-openai:v0.99.0-cu129", False),  # a release that is newer than the facts
        ("vllm/vllm-openai:v0.5.0-cu118", False),  # nobody verified the tags of that time
        ("example.com/team/vllm-openai:v0.33.0-cu129", False),  # not the project's repository
        ("vllm/vllm-openai:latest", False),
    ],
)
def test_a_tag_that_was_never_published(images: Images, text: str, missing: bool) -> None:
    image = images.read(text)
    assert image is not None
    assert images.no_such_tag(image) is missing


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("vllm/vllm-openai-rocm:v0.19.1", "AMD (ROCm)"),
        ("rocm/vllm:latest", "AMD (ROCm)"),
        ("vllm/vllm-openai-cpu:v0.33.0", "CPU"),
        ("m.daocloud.io/quay.io/ascend/vllm-ascend:v0.24.0rc1-a3", "Huawei (Ascend)"),
        ("vllm/vllm-openai:v0.19.1", ""),
    ],
)
def test_images_for_other_devices(images: Images, text: str, device: str) -> None:
    image = images.read(text)
    assert image is not None
    assert image.device == device
    assert (image.release is None) == bool(device)


def test_hostile_texts_are_answered(images: Images) -> None:
    for text in ("vllm/vllm-openai:v" + "9" * 4000, "vllm/vllm-openai:v0.33.0-" * 300, "vllm/vllm-openai:v1!2.3-cu129", "/:\x00"):
        image = images.read(text)
        assert image is None or not images.no_such_tag(image)


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("cuda", "9.9", ".cuda"),
        ("releases", "0.33 or so", ".releases"),
        ("label", "cu118", ".label"),
        ("gpu_code", {"x86_64": []}, ".gpu_code"),
        ("releases", ">=0.4.3", ""),  # describes tags that other records describe
    ],
)
def test_a_faulty_record_is_seen(spoil: Spoil, field: str, value: object, path: str) -> None:
    def edit(file: dict[str, Any]) -> None:
        place = -1 if field == "gpu_code" else 0
        file["tags"][place][field] = value

    problems = [problem for problem in validate(spoil("images.json", edit)) if problem.file.endswith("images.json")]
    assert any(problem.path.startswith("$.tags[") and problem.path.endswith(path) for problem in problems), problems
