"""toolchain.json: look-ups at the edges of their ranges, and faults that validation must see."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.validate import validate
from envcheck.model.versions import ComputeCapability

FACTS = Path(__file__).parents[2] / "matrices"


@pytest.fixture(scope="module")
def facts() -> Matrix:
    return Matrix(FACTS)


@pytest.mark.parametrize(("triton", "library"), [("2.1.0", "libcuda.so"), ("3.5.1", "libcuda.so"), ("3.6.0", "libcuda.so.1")])
def test_triton_links_by_the_release_of_its_change(facts: Matrix, triton: str, library: str) -> None:
    assert facts.toolchain.links_with(Version(triton)) == library


@pytest.mark.parametrize(
    ("vllm", "kernels"),
    [
        ("0.8.5", set()),
        ("0.9.0", {"flashinfer-sampler-where-installed"}),
        ("0.11.0", {"flashinfer-sampler-where-installed"}),
        ("0.11.1", {"flashinfer-sampler-asked-for"}),
        ("0.19.1", {"flashinfer-sampler-asked-for"}),
        ("0.20.2", {"flashinfer-sampler-asked-for", "deep-gemm"}),
        ("0.21.0", {"flashinfer-sampler", "deep-gemm"}),
    ],
)
def test_one_record_of_the_sampler_holds_for_a_release(facts: Matrix, vllm: str, kernels: set[str]) -> None:
    assert {entry.id for entry in facts.toolchain.kernels(Version(vllm))} == kernels


def test_the_first_toolkit_of_a_gpu(facts: Matrix) -> None:
    # ptxas of CUDA 12.6 lists no target above sm_90, that of 12.8 does
    assert facts.toolchain.first_toolkit(ComputeCapability(12, 0)) == "12.8"
    assert facts.toolchain.first_toolkit(ComputeCapability(8, 0)) is None


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("kernels", "vllm", "from 0.21 on"),
        ("kernels", "capability_from", "eight"),
        ("host_compilers", "cuda", "newest"),
        ("triton", "triton", "=> 3.6"),
        ("kernels", "id", "zzz"),
    ],
)
def test_a_faulty_record_is_seen(tmp_path: Path, kind: str, field: str, value: str) -> None:
    folder = tmp_path / "matrices"
    shutil.copytree(FACTS, folder)
    assert validate(folder) == []
    place = folder / "toolchain.json"
    content = json.loads(place.read_text(encoding="utf-8"))
    content[kind][0][field] = value
    place.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    problems = validate(folder)
    assert problems
    assert all("toolchain.json" in problem.file for problem in problems)
