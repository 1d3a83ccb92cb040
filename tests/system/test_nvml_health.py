"""What boards say of their state, and of what lies between two of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlGpu, NvmlPair

pytestmark = pytest.mark.native

MIB = 1 << 20
Standin = Callable[[str], dict[str, str]]
Look = Callable[..., NvmlVisit]
Changed = Callable[..., dict[str, str]]


@pytest.fixture
def gpus(standin: Standin, look: Look) -> Callable[..., list[NvmlGpu]]:
    """`gpus(profile)`: the devices of the host of that name, all of them read."""

    def read(profile: str) -> list[NvmlGpu]:
        report = look(standin(profile)).report
        assert report.status == "ok"
        assert len(report.gpus) == report.gpu_count
        return report.gpus

    return read


def test_memory_errors_and_pages_that_wait_for_a_reset(gpus: Callable[..., list[NvmlGpu]]) -> None:
    (gpu,) = gpus("ecc_uncorrected")
    assert (gpu.ecc_current, gpu.ecc_uncorrected, gpu.retirement_pending) == (True, 12, True)
    assert (gpu.remapped_rows, gpu.errors["remapped_rows"]) == (None, "NotSupported")


def test_rows_without_a_spare_one(gpus: Callable[..., list[NvmlGpu]]) -> None:
    good, bad = gpus("ecc_remap_failed")
    assert (good.remapped_rows, good.remap_pending, good.remap_failed) == (0, False, False)
    assert (bad.remapped_rows, bad.remap_pending, bad.remap_failed) == (10, False, True)


def test_a_board_that_is_slowed_down(gpus: Callable[..., list[NvmlGpu]]) -> None:
    (gpu,) = gpus("throttled")
    assert (gpu.throttle_mask, gpu.temperature_c) == (0xC8, 92)
    assert (gpu.power_limit_mw, gpu.power_default_mw) == (175_000, 350_000)
    assert (gpu.pcie_generation, gpu.pcie_width, gpu.pcie_generation_max, gpu.pcie_width_max) == (1, 4, 4, 16)


def test_modes(gpus: Callable[..., list[NvmlGpu]]) -> None:
    assert [(gpu.compute_mode, gpu.persistence) for gpu in gpus("exclusive_process")] == [(3, True), (3, True)]


def test_a_screen_and_a_small_window(gpus: Callable[..., list[NvmlGpu]]) -> None:
    assert [(gpu.display_active, gpu.bar1_total_bytes) for gpu in gpus("mixed_3090_1080ti")] == [(False, 32768 * MIB), (True, 256 * MIB)]


def test_a_slice_of_a_board_in_a_guest(gpus: Callable[..., list[NvmlGpu]]) -> None:
    (gpu,) = gpus("vgpu_a10q")
    assert (gpu.virtualization, gpu.temperature_c, gpu.pcie_width) == ("vgpu", None, None)
    assert gpu.errors["temperature"] == gpu.errors["pcie"] == "NotSupported"


@pytest.mark.parametrize(
    ("field", "function", "read"),
    [
        ("ecc_current", "nvmlDeviceGetEccMode", "ecc"),
        ("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", "ecc_errors"),
        ("remap_failed", "nvmlDeviceGetRemappedRows", "remapped_rows"),
        ("retirement_pending", "nvmlDeviceGetRetiredPagesPendingStatus", "retired_pages"),
        ("persistence", "nvmlDeviceGetPersistenceMode", "persistence"),
        ("compute_mode", "nvmlDeviceGetComputeMode", "compute_mode"),
        ("power_limit_mw", "nvmlDeviceGetEnforcedPowerLimit", "power_limit"),
        ("power_default_mw", "nvmlDeviceGetPowerManagementDefaultLimit", "power_default"),
        ("bar1_total_bytes", "nvmlDeviceGetBAR1MemoryInfo", "bar1"),
        ("numa_node", "nvmlDeviceGetNumaNodeId", "numa_node"),
        ("display_active", "nvmlDeviceGetDisplayActive", "display"),
        ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", "pcie"),
    ],
)
def test_each_read_is_guarded_on_its_own(standin: Standin, look: Look, changed: Changed, field: str, function: str, read: str) -> None:
    env = changed(standin("ecc_remap_pending"), f"error.{function} = 4", section="gpu0")
    broken, *others = look(env).report.gpus
    assert getattr(broken, field) is None
    assert broken.errors[read] == "NoPermission"
    assert broken.memory_total_bytes
    assert broken.pcie_width == 16
    assert all("NoPermission" not in gpu.errors.values() for gpu in others)


@pytest.mark.parametrize(
    ("newer", "field", "value"),
    [("nvmlDeviceGetCurrentClocksEventReasons", "throttle_mask", 0xC8), ("nvmlDeviceGetTemperatureV", "temperature_c", 92)],
)
def test_an_older_spelling_serves_where_the_newer_is_missing(
    standin: Standin, look: Look, changed: Changed, newer: str, field: str, value: int
) -> None:
    (gpu,) = look(changed(standin("throttled"), f"absent = {newer}")).report.gpus
    assert getattr(gpu, field) == value


def test_bridges_between_two_and_two(standin: Standin, look: Look) -> None:
    pairs = {(pair.a, pair.b): pair for pair in look(standin("a100x4_nvlink_pairs")).report.pairs}
    assert sorted(pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert pairs[0, 1] == NvmlPair(0, 1, ancestor=20, read=0, nvlink=0)
    assert pairs[0, 2] == NvmlPair(0, 2, ancestor=50, read=0, nvlink=5)
    assert pairs[1, 2] == NvmlPair(1, 2, ancestor=None, read=0, nvlink=5, errors={"ancestor": "Unknown"})


def test_boards_that_may_not_read_each_other(standin: Standin, look: Look) -> None:
    assert look(standin("rtx4090x2_p2p_off")).report.pairs == [NvmlPair(0, 1, ancestor=30, read=6, nvlink=5)]


def test_a_lost_gpu_is_in_no_pair(standin: Standin, look: Look) -> None:
    pairs = look(standin("lost")).report.pairs
    assert len(pairs) == 7 * 6 // 2
    assert not [pair for pair in pairs if 6 in (pair.a, pair.b)]


def test_one_gpu_has_no_pair(standin: Standin, look: Look) -> None:
    assert look(standin("rtx4090")).report.pairs == []


def test_pairs_that_hang_leave_the_gpus(standin: Standin, look: Look, changed: Changed) -> None:
    report = look(changed(standin("rtx4090x2_p2p_off"), "sleep.nvmlDeviceGetP2PStatus = 60000")).report
    assert (report.status, len(report.gpus), report.pairs) == ("Timeout", 2, [])


WHOLE_VISIT = """
import json, sys
from envcheck.system import nvml_child
before, told = set(sys.modules), []
nvml_child.read_all(told.append)
builtins = vars(sys.modules["pynvml"])["__builtins__"]
json.dump([len(told), len(builtins.later), sorted(set(sys.modules) - before)], sys.stdout)
"""


def test_a_whole_visit_makes_and_imports_little(standin: Standin) -> None:
    done = subprocess.run([sys.executable, "-c", WHOLE_VISIT], env=standin("h20x8"), capture_output=True, text=True, timeout=30, check=True)
    told, put_off, loaded = json.loads(done.stdout)
    assert told == 1 + 1 + 8 + 1  # libcuda, the driver, the devices, the pairs
    assert put_off > 150
    dear = {"string", "ctypes.util", "subprocess", "shutil", "tempfile", "inspect", "importlib.util", "asyncio", "email", "ast"}
    assert not dear & set(loaded)
