"""The records on drivers and images hang together, and say what their sources say."""

from pathlib import Path

import pytest

from envcheck.matrix.drivers import Drivers
from envcheck.matrix.load import Matrix
from envcheck.model.versions import driver_version, numbers

MATRIX = Matrix(Path(__file__).parents[2] / "matrices")
DRIVERS: Drivers = MATRIX.drivers


def test_every_version_is_one_and_every_range_holds_something() -> None:
    for fault in DRIVERS.file.faults:
        first, before = driver_version(fault.first), driver_version(fault.before)
        assert first is not None, fault.id
        assert before is not None, fault.id
        assert first.parsed < before.parsed, fault.id
    assert all(numbers(entry.kernel) for entry in DRIVERS.file.kernels)
    assert all(numbers(entry.toolkit) for entry in DRIVERS.file.toolkits)


def test_every_architecture_is_known_elsewhere() -> None:
    architectures = {entry.architecture for entry in MATRIX.cuda.architectures}
    assert {entry.architecture for entry in DRIVERS.file.modules} <= architectures


@pytest.mark.parametrize(("branch", "kernel"), [(535, (3, 10)), (550, (3, 10)), (570, (4, 15)), (610, (4, 15)), (470, None)])
def test_kernels_by_branch(branch: int, kernel: tuple[int, int] | None) -> None:
    # vLLM's documentation, after NVIDIA's README: 3.10 for R535, 4.15 for R570 and R580.
    assert DRIVERS.kernel_floor(branch) == kernel


@pytest.mark.parametrize(
    ("architecture", "kind"), [("Blackwell", "open"), ("Volta", "proprietary"), ("Turing", None), ("Ampere", None), ("Hopper", None)]
)
def test_the_kind_of_module_by_architecture(architecture: str, kind: str | None) -> None:
    # NVIDIA's installation guide: open from Turing on, the only one for Blackwell.
    assert DRIVERS.only_module(architecture) == kind


@pytest.mark.parametrize(
    ("driver", "faulty"), [("545.23.08", True), ("545", True), ("550.54.15", False), ("595.91.07", True), ("595", False)]
)
def test_faults_by_version(driver: str, faulty: bool) -> None:
    parsed = driver_version(driver)
    assert parsed is not None
    assert bool(DRIVERS.faults(parsed)) is faulty


@pytest.mark.parametrize(("branch", "wsl", "floor"), [(560, True, "1.14.4"), (552, True, None), (560, False, None)])
def test_the_toolkit_by_branch(branch: int, wsl: bool, floor: str | None) -> None:
    assert DRIVERS.toolkit_floor(branch, wsl=wsl) == floor


def test_every_gate_is_of_a_toolkit_and_lists_only_older_branches() -> None:
    toolkits = {entry.cuda for entry in MATRIX.cuda.toolkits}
    for release in ("11.8", "12.1", "12.4", "12.6", "12.8", "12.9", "13.0", "13.1"):
        gate, own = MATRIX.images.gate(release), MATRIX.toolkit_branch(release)
        assert gate is not None, release
        assert own is not None, release
        assert release in toolkits
        assert all(branch < own for branch in gate.also_branches or []), release
