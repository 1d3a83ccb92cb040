"""Every fault that `validate` looks for, planted in a copy of the shipped facts, is found where it was planted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.canonical import canonical
from envcheck.matrix.files import kind_of
from envcheck.matrix.validate import validate

Spoil = Callable[[str, Callable[[Any], None]], Path]


def release(releases: list[Any], version: str) -> Any:
    return next(entry for entry in releases if entry["version"] == version)


def set_in(path: list[Any], value: Any) -> Callable[[Any], None]:
    def edit(root: Any) -> None:
        for step in path[:-1]:
            root = root[step]
        root[path[-1]] = value

    return edit


def test_the_shipped_facts_are_in_order() -> None:
    assert validate(Path(__file__).parents[2] / "matrices") == []


FAULTS = [
    ("vllm/0.19.json", set_in([1, "requires", "torch"], "==2.10.9"), "$[1].requires.torch", "torch 2.10.9"),
    ("vllm/0.19.json", set_in([1, "builds", 0, "cuda"], "12.99"), "$[1].builds[0].cuda", "12.99"),
    ("vllm/0.19.json", set_in([1, "builds", 0, "cuda_major"], 13), "$[1].builds[0].cuda_major", "13"),
    ("vllm/0.19.json", set_in([1, "builds", 1, "torch_variant"], "cu124"), "$[1].builds[1].torch_variant", "cu124"),
    ("vllm/0.19.json", set_in([1, "builds", 2, "variant"], "cu129"), "$[1].builds[2].variant", "13.0"),
    ("vllm/0.19.json", set_in([1, "builds", 2, "url"], "http://example.com/vllm-0.19.1+cu130-x.whl"), "$[1].builds[2].url", "https"),
    ("vllm/0.19.json", set_in([1, "builds", 0, "url"], "https://example.com/vllm.whl"), "$[1].builds[0].url", "neither"),
    ("vllm/0.19.json", set_in([1, "builds", 0, "gpu_code"], ["6.9"]), "$[1].builds[0].gpu_code", "6.9"),
    ("vllm/0.19.json", set_in([1, "builds", 0, "ptx_kernels", 0, "cuda"], "12.4"), "$[1].builds[0].ptx_kernels[0]", "8.8"),
    ("vllm/0.19.json", set_in([1, "version"], "0.20.9"), "$[1].version", "another file"),
    ("vllm/0.19.json", set_in([1, "released"], "2026-13-01"), "$[1].released", "2026-13-01"),
    ("vllm/0.19.json", set_in([1, "released"], "2027-01-01"), "$[1].released", "2027-01-01"),
    ("vllm/0.19.json", set_in([1, "requires_python"], ">=3.x"), "$[1].requires_python", ">=3.x"),
    ("vllm/0.19.json", set_in([1, "constraints"], {"numpy": "two"}), "$[1].numpy", "two"),
    ("vllm/0.19.json", set_in([1, "pythons"], ["3.14"]), "$[1].pythons", "3.14"),
    ("vllm/0.19.json", set_in([1, "sources"], []), "$[1]", "no source"),
    ("vllm/0.19.json", lambda releases: releases.reverse(), "$[1]", "out of order"),
    ("vllm/0.19.json", lambda releases: releases.append(releases[1]), "$[2]", "twice"),
    ("torch.json", lambda releases: releases.remove(release(releases, "2.14.0")), "$[0].requires.torch", "torch 2.14.0"),
    ("engines.json", set_in([6, "releases"], ">=0.17.0,<0.19.1"), "$[1].version", "0 ranges"),
    ("engines.json", set_in([6, "releases"], ">=0.17.0"), "$[0].version", "2 ranges"),
    ("engines.json", set_in([6, "releases"], "0.17 and up"), "$[6].releases", "0.17 and up"),
    ("policy.json", set_in(["oldest_planned"], "0.6.9"), "$.oldest_planned", "0.6.9"),
    ("cuda.json", set_in(["majors", 2, "min_driver"], "520"), "$.majors[2]", "out of order"),
    ("cuda.json", set_in(["branches", 11, "ended"], False), "$.branches[11].ended", ""),
    ("gpus.json", set_in([5, "compute_capability"], "9.9"), "$[5]", "9.9"),
    ("gpus.json", set_in([5, "pci_ids"], ["22G6"]), "$[5].pci_ids", "22G6"),
    ("gpus.json", set_in([5, "memory_mib"], 24), "$[5].memory_mib", "24"),
    ("gpus.json", set_in([5, "aliases"], ["NVIDIA H100"]), "", "nvidia h100"),
    ("makers.json", set_in([1, "pci_vendor"], "1002"), "$[1].pci_vendor", "1002"),
    ("makers.json", set_in([0, "pci_vendor"], "0x1002"), "$[0].pci_vendor", "0x1002"),
    ("makers.json", set_in([0, "classes"], ["300"]), "$[0]", "`300`"),
    ("makers.json", set_in([0, "pci_vendor"], None), "$[0].pci_vendor", "no vendor"),
    ("makers.json", set_in([0, "nodes"], ["dev/kfd"]), "$[0].nodes", "dev/kfd"),
    ("makers.json", set_in([0, "nodes"], ["/dev/kfd[0-9]*"]), "$[0].nodes", "kfd"),
    ("makers.json", set_in([0, "words"], []), "$[0].words", "no word"),
    ("makers.json", set_in([0, "words"], ["MI#", "AMD "]), "$[0].words", "AMD "),
    ("makers.json", set_in([0, "words"], ["#"]), "$[0].words", "#"),
    ("makers.json", set_in([0, "sources"], []), "$[0]", "no source"),
    ("makers.json", lambda makers: makers.reverse(), "$[1]", "out of order"),
    ("clouds.json", set_in([24, "mirrors"], ["aliyun", "nowhere"]), "$[24].mirrors", "nowhere"),
    ("clouds.json", set_in([24, "signs", 0, "value"], "x "), "$[24].signs[0]", "blanks"),
    ("clouds.json", set_in([24, "signs", 0, "path"], "sys/class"), "$[24].signs[0]", "absolute"),
    ("clouds.json", set_in([24, "provider"], "aws"), "$[24].provider", "no platform"),
    ("clouds.json", set_in([0, "provider"], "nowhere"), "$[0].provider", "nowhere"),
    ("clouds.json", set_in([0, "tells", 0, "name"], None), "$[0].tells[0]", "name"),
    ("clouds.json", set_in([0, "tells", 0, "means"], {"a": "nowhere"}), "$[0].tells[0].means", "nowhere"),
    ("clouds.json", set_in([33, "metadata", "base"], "http://metadata.example"), "$[33].metadata", "literal"),
    (
        "clouds.json",
        set_in([33, "metadata", "questions", 0, "path"], "/latest/meta-data/iam/security-credentials/"),
        "$[33].metadata",
        "never to be asked",
    ),
    ("mirrors.json", set_in([0, "url"], "http://hf-mirror.com"), "$[0].url", "https"),
    ("mirrors.json", set_in([0, "url"], "https://hf-mirror.com/{variant}"), "$[0].url", "variant"),
    ("mirrors.json", set_in([0, "cloud"], "nowhere"), "$[0].cloud", "nowhere"),
    ("distros.json", set_in([0, "glibc"], "2.17 or so"), "$[0]", "2.17 or so"),
    ("images.json", set_in(["releases", 0, "cuda"], "12.7"), "$.releases[0].cuda", "12.7"),
    ("models.json", set_in([0, "config"], {}), "$[0].config", "model_type"),
    ("codes.json", set_in([0, "code"], "No Code"), "$[0]", "No Code"),
    ("matrix.json", set_in(["date"], "soon"), "$.date", "date"),
    ("matrix.json", set_in(["schema"], 7), "$.schema", "7"),
]


@pytest.mark.parametrize(("name", "edit", "path", "what"), FAULTS, ids=[f"{fault[0]}-{place}" for place, fault in enumerate(FAULTS)])
def test_a_planted_fault_is_found(spoil: Spoil, name: str, edit: Callable[[Any], None], path: str, what: str) -> None:
    problems = validate(spoil(name, edit))
    assert any(path in problem.path and what in problem.what for problem in problems), problems


def test_an_undecodable_file_is_named_with_the_path_inside(spoil: Spoil) -> None:
    problems = validate(spoil("torch.json", set_in([2, "cudnn"], 9)))
    assert [(problem.file, problem.path) for problem in problems] == [("matrices/torch.json", "$[2].cudnn")]


def test_missing_stray_and_uncanonical_files(copy: Path) -> None:
    (copy / "mirrors.json").unlink()
    (copy / "notes.json").write_text("{}\n")
    (copy / "policy.json").write_bytes((copy / "policy.json").read_bytes().replace(b"  ", b"    "))
    assert {(problem.file, problem.what.split(":")[0]) for problem in validate(copy)} == {
        ("matrices/mirrors.json", "no such file"),
        ("matrices/notes.json", "not a file of the matrix"),
        ("matrices/policy.json", "not in canonical form"),
    }


def test_a_default_registry_may_not_be_named(spoil: Spoil) -> None:
    host = ".".join(("files", "pythonhosted", "org"))
    problems = validate(spoil("policy.json", set_in(["note"], f"see {host}")))
    assert any("a default registry" in problem.what for problem in problems)


def test_an_empty_folder_misses_every_file(tmp_path: Path) -> None:
    problems = validate(tmp_path)
    assert problems
    assert {problem.what for problem in problems} == {"no such file"}


def test_every_shipped_file_is_as_canonical_writes_it() -> None:
    folder = Path(__file__).parents[2] / "matrices"
    paths = sorted(folder.rglob("*"))
    assert len([path for path in paths if path.suffix == ".json"]) > 40
    for path in paths:
        if path.is_dir():
            continue
        kind = kind_of(path.relative_to(folder).as_posix())
        assert kind is not None, path
        data = path.read_bytes()
        assert data == canonical(msgspec.json.decode(data, type=kind.type)), path
