"""What vendors publish of drivers, CUDA, torch and GPUs."""

from __future__ import annotations

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.versions import driver_version


@pytest.mark.parametrize(("major", "driver"), [(11, "450.80.02"), (12, "525.60.13"), (13, "580")])
def test_floors_of_minor_version_compatibility(matrix: Matrix, major: int, driver: str) -> None:
    """NVIDIA's table of CUDA compatibility; not the drivers bundled with the toolkits."""
    floor = matrix.cuda_floor(major)
    assert floor is not None
    assert floor.raw == driver
    assert matrix.cuda_floor(10) is None


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("470.161.03", (11, 4)),
        ("535.161.08", (12, 2)),
        ("550.144.03", (12, 4)),
        ("565.57.01", (12, 7)),
        ("570.144", (12, 8)),
        ("575.57.08", (12, 9)),
        ("580.95.05", (13, 0)),
        ("610.57.04", (13, 3)),
        ("540.10", (12, 2)),  # a branch that is not listed counts as the next lower one
        ("440.33", None),
    ],
)
def test_cuda_that_nvidia_smi_shows(matrix: Matrix, driver: str, cuda: tuple[int, int] | None) -> None:
    parsed = driver_version(driver)
    assert parsed is not None
    assert matrix.driver_max_cuda(parsed) == cuda


@pytest.mark.parametrize(
    ("branch", "ended", "end"),
    [
        (535, True, "2026-06"),
        (550, True, None),
        (570, True, "2026-02"),
        (580, False, "2028-06"),
        (595, False, "2027-03"),
        (620, False, "2029-09"),
    ],
)
def test_life_of_branches(matrix: Matrix, branch: int, ended: bool, end: str | None) -> None:
    found = matrix.branch(branch)
    assert found is not None
    assert (found.ended, found.end_of_life) == (ended, end)


def test_volta_ends_with_cuda_12_and_branch_580(matrix: Matrix) -> None:
    volta = next(entry for entry in matrix.cuda.architectures if entry.architecture == "Volta")
    assert ("7.0" in volta.capabilities, volta.last_cuda_major, volta.last_branch) == (True, 12, 580)


@pytest.mark.parametrize(
    ("torch", "x86_64", "aarch64"),
    [
        ("2.0.1", (11, 7), None),
        ("2.4.0", (12, 1), None),
        ("2.6.0", (12, 4), None),
        ("2.7.1", (12, 6), None),
        ("2.10.0", (12, 8), None),
        ("2.11.0", (13, 0), (13, 0)),
        ("2.14.0", (13, 0), (13, 0)),
        ("2.15.0", (13, 2), (13, 2)),
    ],
)
def test_cuda_of_torch_on_the_package_index(matrix: Matrix, torch: str, x86_64: tuple[int, int], aarch64: tuple[int, int] | None) -> None:
    """2.11.0 is the first with CUDA for aarch64 there, and the first with CUDA 13."""
    found = matrix.torch(torch)
    assert found is not None
    assert [build.cuda for arch in ("x86_64", "aarch64") if (build := found.build(arch))] == [x86_64, aarch64]


def test_every_torch_release(matrix: Matrix) -> None:
    assert len(matrix.torch_releases) == 28
    assert (matrix.torch_releases[0].raw, matrix.torch_releases[-1].raw) == ("2.15.0", "2.0.0")


@pytest.mark.parametrize(
    ("torch", "variant", "has", "lacks"),
    [
        ("2.7.1", "", (9, 0), (12, 0)),  # why Blackwell with torch of the index needs vLLM 0.10.2
        ("2.7.1", "cu128", (12, 0), (7, 0)),
        ("2.8.0", "", (7, 0), (5, 0)),
        ("2.10.0", "", (7, 0), (5, 0)),
        ("2.11.0", "cu128", (7, 5), (7, 0)),
        ("2.11.0", "cu126", (5, 0), (10, 0)),
        ("2.14.0", "", (7, 5), (7, 0)),
    ],
)
def test_code_in_torch(matrix: Matrix, torch: str, variant: str, has: tuple[int, int], lacks: tuple[int, int]) -> None:
    found = matrix.torch(f"{torch}+cu130")  # the local label is no part of the release
    assert found is not None
    build = found.build("x86_64", variant)
    assert build is not None
    assert build.gpu_code is not None
    assert has in build.gpu_code
    assert lacks not in build.gpu_code


def test_a_cpu_build_has_no_code(matrix: Matrix) -> None:
    found = matrix.torch("2.10.0")
    assert found is not None
    build = found.build("aarch64")
    assert build is not None
    assert (build.cuda, build.gpu_code) == (None, ())


def test_unlisted_variants_are_marked(matrix: Matrix) -> None:
    """The +cu129 builds of torch 2.9 and later exist on its server, and vLLM's images use them, but no list of variants names them."""
    found = matrix.torch("2.10.0")
    assert found is not None
    assert {build.variant: build.listed for build in found.builds if build.arch == "x86_64"} == {
        "": True,
        "cu126": True,
        "cu128": True,
        "cu129": False,
        "cu130": True,
    }


def test_the_gpu_catalogue(matrix: Matrix) -> None:
    """154 GPUs of NVIDIA's list of compute capabilities; the driver's list names more, and people's names for families are ours."""
    assert sum("developer.nvidia.com/cuda-gpus" in gpu.sources[0] for gpu in matrix.gpus) == 154
    assert len({gpu.name for gpu in matrix.gpus}) == len(matrix.gpus)


@pytest.mark.parametrize(
    ("name", "capability", "memory_mib"),
    [
        ("Tesla T4", "7.5", 15360),
        ("NVIDIA A10", "8.6", 23028),
        ("NVIDIA L20", "8.9", 46068),
        ("NVIDIA H20", "9.0", 97871),
        ("NVIDIA L20X", "9.0", 143771),
        ("NVIDIA GeForce RTX 5090", "12.0", 32607),
        ("NVIDIA B300 SXM6 AC", "10.3", 275040),
        ("Quadro RTX 3000", "7.5", None),
        ("NVIDIA GB10", "12.1", None),
    ],
)
def test_gpus_as_logs_show_them(matrix: Matrix, name: str, capability: str, memory_mib: int | None) -> None:
    found = matrix.gpu(name)
    assert found is not None
    assert (found.name, found.compute_capability, found.memory_mib) == (name, capability, memory_mib)


def test_unified_memory_is_that_of_the_host(matrix: Matrix) -> None:
    assert {gpu.name for gpu in matrix.gpus if gpu.unified_memory} == {"NVIDIA GB10", "NVIDIA Thor", "Orin (nvgpu)", "Xavier"}


def test_boards_with_nvswitches(matrix: Matrix) -> None:
    """SXM modules of 8-GPU boards; PCIe, NVL and rack forms are not among them."""
    switched = {gpu.name for gpu in matrix.gpus if gpu.nvswitch_board}
    assert {"NVIDIA H20", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA H200", "NVIDIA B200"} <= switched
    assert not {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA A100 80GB PCIe", "NVIDIA H200 NVL", "NVIDIA GB200"} & switched


@pytest.mark.parametrize(
    ("name", "branch", "driver"),
    [("NVIDIA H20", "535", "535.43.25"), ("NVIDIA GeForce RTX 5090", "570", "570.86.16"), ("NVIDIA B200", "570", "570.86.15")],
)
def test_the_first_driver_that_lists_a_gpu(matrix: Matrix, name: str, branch: str, driver: str) -> None:
    found = matrix.gpu(name)
    assert found is not None
    assert found.first_driver[branch] == driver
