"""Package sets as installers leave them, and the names of wheels and builds that the rules read."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Severity
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.check import judge
from envcheck.rules.extensions import BuiltFor, built_for
from envcheck.rules.registry import ENVIRONMENT_RULES
from envcheck.rules.target_environment import wheel_cuda_major

# Releases of packages that vLLM does not pin, old to new; the newest that fits is taken.
PUBLISHED = {
    "numpy": ["1.26.4", "2.0.2", "2.1.3", "2.2.6"],
    "transformers": ["4.31.0", "4.36.2", "4.40.2", "4.44.2", "4.45.2", "4.48.3", "4.51.3", "4.53.3", "4.57.6", "5.16.1", "5.17.0"],
    "tokenizers": ["0.13.3", "0.19.1", "0.20.3", "0.21.4", "0.22.2", "0.23.3"],
    "ray": ["2.9.3", "2.43.0", "2.48.0"],
}
# 0.8.3 pins numba 0.61, which takes numpy below 2.2; the numba of all others takes what is above.
NUMPY = {"0.8.3": "<2.2"}


def as_installed(release: Release) -> dict[str, str]:
    """The packages that a resolver takes for a release: what it pins, and of the rest the newest that fits."""
    found = {"vllm": release.raw}
    extra = {"numpy": NUMPY.get(release.raw)}
    for package, text in release.record.requires.items():
        wanted = SpecifierSet(",".join(filter(None, (text, release.record.constraints.get(package), extra.get(package)))), prereleases=True)
        pin = re.fullmatch(r"==([\w.]+)", text)
        fitting = [version for version in PUBLISHED.get(package, []) if wanted.contains(version)]
        if pin or fitting:
            found[package] = pin[1] if pin else fitting[-1]
    if Version(found.get("transformers", "0")) < Version("5.16"):
        found.pop("tokenizers", None)  # transformers takes no newer ones, and which of the older is its own business
    return found


def test_a_set_that_fits_together_is_never_found_fault_with(matrix: Matrix) -> None:
    codes = {code for rule in ENVIRONMENT_RULES for code in rule.codes} - {"driver-too-old-for-cuda", "gpu-arch-not-in-torch-build"}
    judged = 0
    for release in matrix.releases:
        if release.build("x86_64") is None or release.torch_pin is None:
            continue
        torch = matrix.torch(release.torch_pin)
        assert torch
        packages = as_installed(release)
        python = release.record.pythons[-1] if release.record.pythons else "3.10"
        document = {
            "os": {"arch": "x86_64", "glibc": "2.39", "libstdcxx": "GLIBCXX_3.4.33"},
            "python": {"version": f"{python}.1", "libstdcxx": None},
            "driver": {"version": "595.84"},
            "gpus": [{"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "memory_mib": 81920}],
            "packages": packages,
            "torch": {"version": release.torch_pin, "cuda": torch.record.index_cuda["x86_64"]},
        }
        findings = judge(msgspec.convert(document, HostReport), matrix, Request()).findings
        assert [f.code for f in findings if f.code in codes and f.severity is not Severity.INFO] == [], (release.raw, packages)
        judged += 1
    assert judged > 80


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.7.4.post1+cu12torch2.6cxx11abiFALSE", BuiltFor(12, (2, 6), False)),
        ("flash_attn-2.5.8+cu122torch2.3cxx11abiTRUE-cp310-cp310-linux_x86_64.whl", BuiltFor(12, (2, 3), True)),
        (
            "https://example.com/v2.8.3/flash_attn-2.8.3%2Bcu12torch2.10cxx11abiTRUE-cp312-cp312-linux_x86_64.whl",
            BuiltFor(12, (2, 10), True),
        ),
        ("0.2.5+cu124torch2.6", BuiltFor(12, (2, 6), None)),
        ("0.6.11+cu130", BuiltFor(13, None, None)),
        ("2.8.3", None),
        ("2.8.3+local", None),
    ],
)
def test_a_wheels_name_tells_its_build(text: str, expected: BuiltFor | None) -> None:
    assert built_for(text) == expected


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("0.19.1", 12),  # the index's wheel
        ("0.19.1+cu130", 13),
        ("0.33.0", 13),
        ("0.11.1rc6.dev52+g6c317a656.cu129", 12),  # vllm-project/vllm issue 27761: a nightly names its CUDA
        ("0.20.1rc1.dev5+gabcdef012.cu129", 12),
        ("0.10.1.1+381074ae.nv25.09", None),  # NVIDIA's container: in no table
        ("0.10.1.1+381074ae.nv25.9", None),  # the same as installers spell the month
    ],
)
def test_the_cuda_that_an_installed_vllm_needs(matrix: Matrix, version: str, major: int | None) -> None:
    host = SimpleNamespace(package_origins=None)
    known: dict[str, Any] = {"installed": matrix.resolve(version), "installed_raw": version, "arch": "x86_64", "torch": None, "image": ""}
    situation: Any = SimpleNamespace(host=host, **known)
    assert wheel_cuda_major(situation) == major
