"""Floors of quantization methods, limits of FP8 kernels and half precision, each against what releases and reports say."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.quantization import KernelUse
from envcheck.model.versions import ComputeCapability

MATRIX = Matrix(Path(__file__).parents[2] / "matrices")
FACTS = MATRIX.quantization


@pytest.mark.parametrize(
    ("method", "release", "floor"),
    [
        ("fp8", "0.4.1", "9.0"),
        ("fp8", "0.4.2", "8.9"),
        ("fp8", "0.5.1", "8.0"),
        ("fp8", "0.13.0", "8.0"),
        ("fp8", "0.14.0", "7.5"),
        ("fp8", "0.33.0", "7.5"),
        ("awq", "0.2.0", "8.0"),
        ("awq", "0.2.1", "7.5"),
        ("awq", "0.6.3", "7.5"),
        ("gptq", "0.2.6", "6.0"),
        ("compressed-tensors", "0.5.2", "7.5"),
        ("compressed-tensors wNa16", "0.7.3", "8.0"),
        ("compressed-tensors wNa16", "0.11.2", "8.0"),
        ("compressed-tensors wNa16", "0.12.0", "7.5"),
        ("compressed-tensors w8a8", "0.33.0", "7.5"),
        ("mxfp4", "0.10.1", "8.0"),
    ],
)
def test_floors_are_those_of_the_source_distributions(method: str, release: str, floor: str) -> None:
    assert str(FACTS.floor(method, Version(release))) == floor


@pytest.mark.parametrize(("method", "release"), [("fp8", "0.4.0"), ("awq", "0.1.7"), ("deepseek_v4_fp8", "0.33.0"), ("no-such", "0.33.0")])
def test_what_is_not_known_has_no_floor(method: str, release: str) -> None:
    assert FACTS.floor(method, Version(release)) is None


def test_a_release_newer_than_the_data_keeps_the_floor_of_the_newest() -> None:
    assert FACTS.floor("fp8", Version("0.34.0")) == FACTS.floor("fp8", MATRIX.releases[0].version)


@pytest.mark.parametrize(
    ("use", "release", "capability", "severity"),
    [
        ("experts", "0.8.5", (8, 6), "error"),  # vLLM issue 17581
        ("experts", "0.8.5", (8, 9), None),
        ("experts", "0.9.0", (8, 0), None),
        ("blocks", "0.8.5.post1", (8, 0), "error"),
        ("kv-cache", "0.7.3", (8, 0), "warning"),
        ("kv-cache", "0.8.5", (8, 0), None),  # falls back to the other engine
        ("kv-cache", "0.26.0", (7, 5), "error"),
        ("kv-cache", "0.20.0", (7, 5), "warning"),
        ("kv-cache", "0.20.0", (7, 0), "error"),
        ("kv-cache", "0.26.0", (8, 6), "warning"),
    ],
)
def test_limits_by_release_and_gpu(use: KernelUse, release: str, capability: tuple[int, int], severity: str | None) -> None:
    found = FACTS.limit(use, Version(release), ComputeCapability(*capability))
    assert (found.severity if found else None) == severity


@pytest.mark.parametrize(("release", "replaces"), [("0.6.3", False), ("0.9.1", False), ("0.9.2", True), ("0.33.0", True)])
def test_bfloat16_is_replaced_from_the_first_release_whose_log_shows_it(release: str, replaces: bool) -> None:
    assert FACTS.replaces_bfloat16(Version(release)) is replaces


def test_every_xid_is_known_once() -> None:
    assert MATRIX.xids[79] == "lost"
    assert MATRIX.xids[31] == "application"
    assert 0 not in MATRIX.xids
