import msgspec
import pytest
from msgspec import UNSET

from envcheck.model.fact import Unreadable
from envcheck.model.host_parts import GpuHealth, PcieLink
from envcheck.model.units import MIB
from envcheck.probes import gpus
from envcheck.probes.gpus import to_gpu
from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlReport

BUSY = NvmlGpu(
    index=0,
    pci_bus_id="00000000:3B:00.0",
    mig_current=False,
    mig_pending=False,
    nvlink_peers=["switch"] * 18,
    virtualization="passthrough",
    ecc_current=True,
    ecc_uncorrected=3,
    remapped_rows=10,
    remap_pending=True,
    remap_failed=False,
    persistence=True,
    compute_mode=3,
    throttle_mask=0x01 | 0x04 | 0x20 | 0x100,
    temperature_c=71,
    power_limit_mw=350_000,
    power_default_mw=700_000,
    pcie_width=8,
    pcie_width_max=16,
    pcie_generation=1,
    pcie_generation_max=5,
    bar1_total_bytes=131072 * MIB,
    display_active=False,
    errors={"retired_pages": "NotSupported", "numa_node": "NotSupported"},
)
# A consumer board, and a guest's slice of a board, have none of these.
MISSING = ("mig", "nvlink", "ecc", "ecc_errors", "remapped_rows", "retired_pages", "pcie", "power_limit", "display")


def one_gpu(look, device, **host):
    facts = gpus.probe(look(nvml=NvmlReport("ok", gpus=[device], gpu_count=1), **host))
    return facts["gpus"].value[0], facts


def test_states_modes_and_limits_in_the_documents_terms():
    gpu = to_gpu(BUSY)
    assert (gpu.power_limit_w, gpu.power_default_w, gpu.bar1_mib) == (350, 700, 131072)
    assert (gpu.persistence, gpu.compute_mode, gpu.virtualization, gpu.display) == (True, "exclusive-process", "passthrough", False)
    assert (gpu.nvlink, gpu.nvlinks, gpu.mig, gpu.mig_pending) == (True, 18, False, None)
    assert gpu.pcie == PcieLink(width=8, width_max=16, generation=1, generation_max=5)
    assert gpu.health == GpuHealth(
        ecc=True,
        uncorrected_errors=3,
        remapped_rows=10,
        remap_pending=True,
        remap_failed=False,
        retirement_pending=None,
        throttle=["power-cap", "software-thermal"],
        temperature_c=71,
    )


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (0x0, []),
        (0x1 | 0x2 | 0x10 | 0x100, []),  # idle, clocks set by someone, sync boost, display clocks
        (0x8, ["hardware-slowdown"]),
        (0x40, ["hardware-thermal"]),
        (0xC8, ["hardware-slowdown", "hardware-thermal", "hardware-power-brake"]),
        (2**64 - 1, ["power-cap", "hardware-slowdown", "software-thermal", "hardware-thermal", "hardware-power-brake"]),
    ],
)
def test_only_reasons_that_cost_speed_are_named(mask, names):
    assert to_gpu(NvmlGpu(index=0, throttle_mask=mask)).health.throttle == names


def test_what_the_board_has_none_of_is_known_to_be_absent(look):
    device = NvmlGpu(index=0, temperature_c=40, errors=dict.fromkeys(MISSING, "NotSupported"))
    gpu, facts = one_gpu(look, device)
    assert (gpu.mig, gpu.mig_pending, gpu.nvlink, gpu.nvlinks) == (None, None, False, None)
    assert (gpu.pcie, gpu.power_limit_w, gpu.display) == (None, None, None)
    assert (gpu.health.ecc, gpu.health.uncorrected_errors, gpu.health.remapped_rows, gpu.health.remap_failed) == (None, None, None, None)
    assert not {"gpus.0.pcie", "gpus.0.nvlinks", "gpus.0.health.ecc", "gpus.0.power_limit_w"} & facts.keys()


def test_what_could_not_be_read_is_not_known_and_says_why(look):
    errors = {"ecc": "NoPermission", "persistence": "FunctionNotFound", "compute_mode": "Unknown", "pcie": "NotInModule"}
    gpu, facts = one_gpu(look, NvmlGpu(index=0, temperature_c=40, errors=errors))
    assert (gpu.health.ecc, gpu.persistence, gpu.compute_mode, gpu.pcie) == (UNSET, UNSET, UNSET, UNSET)
    assert facts["gpus.0.health.ecc"] == Unreadable("NVML: NoPermission")
    assert facts["gpus.0.persistence"] == Unreadable("NVML: FunctionNotFound")
    assert facts["gpus.0.compute_mode"] == Unreadable("NVML: Unknown")
    assert facts["gpus.0.pcie"] == Unreadable("NVML: NotInModule")
    assert "gpus.0.health" not in facts


def test_a_read_that_said_nothing_is_a_gap_too(look):
    gpu, facts = one_gpu(look, NvmlGpu(index=0))
    assert (gpu.health, gpu.pcie, gpu.virtualization) == (UNSET, UNSET, UNSET)
    assert facts["gpus.0.health"] == facts["gpus.0.virtualization"] == Unreadable("NVML: does not say")


def test_half_a_link_is_told_as_half_a_link(look):
    gpu, facts = one_gpu(look, NvmlGpu(index=0, pcie_width=16, errors={"pcie": "Unknown"}))
    assert (gpu.pcie.width, gpu.pcie.generation_max) == (16, UNSET)
    assert facts["gpus.0.pcie.generation_max"] == Unreadable("NVML: Unknown")


def test_a_mode_of_an_unknown_number_is_not_known():
    assert to_gpu(NvmlGpu(index=0, compute_mode=9)).compute_mode is UNSET


def test_links_that_are_down_are_none_of_them_up():
    assert (to_gpu(NvmlGpu(index=0)).nvlinks, to_gpu(NvmlGpu(index=0, errors={"nvlink": "Unknown"})).nvlinks) == (0, UNSET)


def test_a_mode_that_waits_for_a_reset():
    assert to_gpu(NvmlGpu(index=0, mig_current=False, mig_pending=True)).mig_pending is True
    assert to_gpu(NvmlGpu(index=0, mig_current=True, mig_pending=False)).mig_pending is False


def test_slices_share_the_state_of_their_board(look):
    parts = [NvmlMigDevice("MIG-a", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40448 * MIB, 40000 * MIB)] * 2
    device = msgspec.structs.replace(BUSY, mig_current=True, mig_pending=False, mig_devices=parts)
    found = gpus.probe(look(nvml=NvmlReport("ok", gpus=[device], gpu_count=1)))["gpus"].value
    assert [(gpu.mig, gpu.mig_pending, gpu.health.ecc, gpu.power_limit_w) for gpu in found] == [("3g.40gb", False, True, 350)] * 2


@pytest.mark.parametrize(
    ("content", "of_nvml", "expected"),
    [
        ("1\n", None, 1),
        ("1\n", 9, 1),  # NVML's is the node that the GPU is, not the one it sits beside
        ("-1\n", None, None),
        (None, 9, 9),
        (None, None, UNSET),
        ("many\n", None, UNSET),
        ("99999999999\n", None, UNSET),
        (b"\xff\0", 2, 2),
    ],
)
def test_the_numa_node_by_the_bus_then_by_nvml(look, content, of_nvml, expected):
    files = {} if content is None else {"/sys/bus/pci/devices/0000:3b:00.0/numa_node": content}
    gpu, facts = one_gpu(look, msgspec.structs.replace(BUSY, numa_node=of_nvml), files=files)
    assert gpu.numa_node == expected
    assert ("gpus.0.numa_node" in facts) == (expected is UNSET)


def test_a_lost_gpu_says_of_every_field_why_it_is_not_known(look):
    gpu, facts = one_gpu(look, NvmlGpu(index=0, lost="GpuIsLost"))
    assert (gpu.health, gpu.pcie, gpu.nvlinks) == (UNSET, UNSET, UNSET)
    assert facts["gpus.0.health"] == facts["gpus.0.pcie"] == facts["gpus.0.power_limit_w"] == Unreadable("NVML: GpuIsLost")
