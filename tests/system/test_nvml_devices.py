"""What is read of a device, board by board."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlProcess, NvmlReport

pytestmark = pytest.mark.native

MIB = 1 << 20
Standin = Callable[[str], dict[str, str]]
Look = Callable[..., NvmlVisit]
Changed = Callable[..., dict[str, str]]


# What a consumer board has none of.
BARE_OF = ("mig", "fabric", "nvlink", "ecc_errors", "remapped_rows", "retired_pages", "numa_node")


def only_gpu(report: NvmlReport) -> NvmlGpu:
    assert report.status == "ok"
    assert report.gpu_count == len(report.gpus) == 1
    return report.gpus[0]


def test_a_consumer_board(standin: Standin, look: Look) -> None:
    seen = look(standin("rtx4090"))
    assert seen.report.driver_version == "550.54.15"
    assert seen.report.nvml_version == "12.550.54.15"
    assert seen.report.cuda_version == 12040
    assert seen.report.errors == {}
    gpu = only_gpu(seen.report)
    assert gpu == NvmlGpu(
        index=0,
        name="NVIDIA GeForce RTX 4090",
        uuid="GPU-00000000-0000-0000-0000-000000004090",
        pci_bus_id="00000000:01:00.0",
        compute_capability=(8, 9),
        memory_total_bytes=24564 * MIB,
        memory_free_bytes=(24564 - 450 - 1200) * MIB,
        memory_reserved_bytes=450 * MIB,
        virtualization="none",
        # A process that both computes and draws is one process, and one of the two lists may not know its memory.
        processes=[NvmlProcess(4321, 1000 * MIB), NvmlProcess(1500, 200 * MIB)],
        ecc_current=False,
        persistence=False,
        compute_mode=0,
        throttle_mask=1,
        temperature_c=44,
        power_limit_mw=450_000,
        power_default_mw=450_000,
        pcie_width=16,
        pcie_width_max=16,
        pcie_generation=1,
        pcie_generation_max=4,
        bar1_total_bytes=256 * MIB,
        display_active=True,
        errors=dict.fromkeys(BARE_OF, "NotSupported"),
    )


def test_a_driver_470_lacks_the_newer_calls(standin: Standin, look: Look) -> None:
    seen = look(standin("t4_470"))
    gpu = only_gpu(seen.report)
    assert (seen.report.driver_version, seen.report.cuda_version) == ("470.161.03", 11040)
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == (15360 * MIB, (15360 - 251) * MIB)
    assert gpu.memory_reserved_bytes is None
    assert gpu.processes == [NvmlProcess(77, 512 * MIB)]
    assert (gpu.errors["mig"], gpu.errors["nvlink"]) == ("NotSupported", "NotSupported")
    assert (gpu.errors["fabric"], gpu.errors["numa_node"]) == ("FunctionNotFound", "FunctionNotFound")


def test_eight_gpus_behind_switches(standin: Standin, look: Look) -> None:
    report = look(standin("h20x8")).report
    assert [gpu.index for gpu in report.gpus] == list(range(8))
    assert len({gpu.uuid for gpu in report.gpus}) == len({gpu.pci_bus_id for gpu in report.gpus}) == 8
    for gpu in report.gpus:
        assert gpu.nvlink_peers == ["switch"] * 18
        assert (gpu.fabric_state, gpu.fabric_status) == ("completed", "ok")
        assert (gpu.mig_current, gpu.mig_pending, gpu.mig_devices) == (False, False, [])
        assert gpu.errors == {}
    assert report.gpus[3].processes == [NvmlProcess(9001, 71680 * MIB), NvmlProcess(9002, None)]
    assert report.gpus[0].processes == []
    assert report.gpus[3].memory_free_bytes == (97871 - 552 - 71684) * MIB


def test_a_fabric_that_was_not_started(standin: Standin, look: Look) -> None:
    report = look(standin("h20x8_fabric_stopped")).report
    assert {(gpu.fabric_state, gpu.fabric_status) for gpu in report.gpus} == {("not-started", None)}


def test_a_fabric_that_was_set_up_with_an_error(standin: Standin, look: Look, changed: Changed) -> None:
    gpu = only_gpu(look(changed(standin("h200_580"), "fabric = 3 999", section="gpu")).report)
    assert (gpu.fabric_state, gpu.fabric_status) == ("completed", "Unknown")


def test_the_first_version_of_the_fabric_call_serves_too(standin: Standin, look: Look, changed: Changed) -> None:
    gpu = only_gpu(look(changed(standin("h200_580"), "absent = nvmlDeviceGetGpuFabricInfoV")).report)
    assert (gpu.fabric_state, gpu.fabric_status, gpu.errors) == ("completed", "ok", {})


def test_links_that_are_down_are_no_peers(standin: Standin, look: Look, changed: Changed) -> None:
    gpu = only_gpu(look(changed(standin("h200_580"), "nvlinks = 0/18", section="gpu")).report)
    assert gpu.nvlink_peers == []
    assert "nvlink" not in gpu.errors


def test_links_whose_other_end_is_not_told(standin: Standin, look: Look, changed: Changed) -> None:
    env = changed(standin("h200_580"), "absent = nvmlDeviceGetNvLinkRemoteDeviceType")
    gpu = only_gpu(look(env).report)
    assert gpu.nvlink_peers == ["other"] * 18
    assert gpu.errors == {"nvlink_remote": "FunctionNotFound"}


def test_mig_devices_with_a_hole_between_them(standin: Standin, look: Look) -> None:
    gpu = only_gpu(look(standin("mig")).report)
    assert (gpu.mig_current, gpu.mig_pending) == (True, False)
    assert gpu.mig_devices == [
        NvmlMigDevice("MIG-00000000-0000-0000-0000-000000000000", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40448 * MIB, (40448 - 48) * MIB),
        NvmlMigDevice("MIG-00000000-0000-0000-0000-000000000002", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", errors={"memory": "NoPermission"}),
    ]
    assert "mig_devices" not in gpu.errors


def test_unified_memory_is_told_by_no_memory_call(standin: Standin, look: Look) -> None:
    gpu = only_gpu(look(standin("gb10")).report)
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == (None, None)
    assert gpu.errors["memory"] == "NotSupported"
    assert gpu.compute_capability == (12, 1)


def test_a_lost_gpu_does_not_take_the_others_along(standin: Standin, look: Look) -> None:
    report = look(standin("lost")).report
    assert report.status == "ok"
    assert report.gpus[6] == NvmlGpu(index=6, lost="GpuIsLost")
    assert (report.gpus[2].name, report.gpus[2].errors["name"]) == (None, "Unknown")
    good = [gpu for gpu in report.gpus if gpu.index not in {2, 6}]
    assert [gpu.name for gpu in good] == ["NVIDIA A100-SXM4-80GB"] * 6
    assert all(gpu.memory_total_bytes == 81920 * MIB for gpu in [*good, report.gpus[2]])
