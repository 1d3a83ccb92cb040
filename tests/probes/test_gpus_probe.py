import pytest
from msgspec import UNSET

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.model.units import MIB
from envcheck.probes import gpus, processes
from envcheck.probes.gpus import bus_address, parse_information, to_gpu
from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlProcess, NvmlReport

A10 = NvmlGpu(
    index=0,
    name="NVIDIA A10",
    uuid="GPU-00000000-1111-2222-3333-444444444444",
    pci_bus_id="00000000:00:07.0",
    compute_capability=(8, 6),
    memory_total_bytes=23028 * MIB,
    memory_free_bytes=22515 * MIB,
    mig_current=None,
    processes=[],
    errors={"mig": "NotSupported", "fabric": "NotSupported", "nvlink": "NotSupported"},
)
INFORMATION = """Model: \t\t NVIDIA A10
IRQ:   \t\t 34
GPU UUID: \t GPU-00000000-1111-2222-3333-444444444444
Video BIOS: \t 94.02.75.00.01
Bus Type: \t PCIe
DMA Size: \t 47 bits
DMA Mask: \t 0x7fffffffffff
Bus Location: \t 0000:00:07.0
Device Minor: \t 0
GPU Excluded:\t No
"""
NEVER_STARTED = "Model: \t\t Unknown\nIRQ:   \t\t 0\nGPU UUID: \t GPU-????????-????-????-????-????????????\nBus Location: \t 0000:3b:00.0\n"


def test_nvml_in_the_documents_terms():
    gpu = to_gpu(A10)
    assert (gpu.index, gpu.name, gpu.compute_capability, gpu.pci_bus_id) == (0, "NVIDIA A10", "8.6", "0000:00:07.0")
    assert (gpu.memory_mib, gpu.memory_free_mib) == (23028, 22515)
    assert (gpu.mig, gpu.nvlink, gpu.unified_memory, gpu.error) == (None, False, False, UNSET)


@pytest.mark.parametrize(
    ("bus_id", "address"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0001:af:00.0", "0001:af:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("", None),
        ("x", None),
    ],
)
def test_bus_ids_as_sysfs_writes_them(bus_id, address):
    assert bus_address(bus_id) == address


def test_a_lost_gpu_keeps_its_place_beside_the_good_ones(look):
    lost = NvmlGpu(index=1, lost="GpuIsLost")
    facts = gpus.probe(look(nvml=NvmlReport("ok", gpus=[A10, lost], gpu_count=2)))
    first, second = facts["gpus"].value
    assert first.error is UNSET
    assert (second.index, second.error, second.name) == (1, "GpuIsLost", UNSET)
    assert facts["gpus.1.memory_mib"] == Unreadable("NVML: GpuIsLost")


def test_a_gpu_that_falls_off_while_read_is_in_error():
    gpu = to_gpu(NvmlGpu(index=3, name="NVIDIA H20", errors={"memory": "GpuIsLost"}))
    assert gpu.error == "memory: GpuIsLost"
    assert gpu.memory_mib is UNSET
    assert gpu.unified_memory is False


def test_unified_memory_is_the_systems(look):
    gb10 = NvmlGpu(index=0, name="NVIDIA GB10", compute_capability=(12, 1), errors={"memory": "NotSupported"})
    visit = look(
        files={"/proc/meminfo": "MemTotal:       125829120 kB\nMemAvailable:   104857600 kB\n"},
        nvml=NvmlReport("ok", gpus=[gb10], gpu_count=1),
    )
    gpu = gpus.probe(visit)["gpus"].value[0]
    assert (gpu.unified_memory, gpu.memory_mib, gpu.memory_free_mib) == (True, 122880, 102400)


def test_mig_devices_take_the_place_of_their_gpu(look):
    parts = [
        NvmlMigDevice("MIG-a", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40448 * MIB, 40000 * MIB),
        NvmlMigDevice("MIG-b", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9984 * MIB, 9900 * MIB),
    ]
    parent = NvmlGpu(
        index=0,
        name="NVIDIA H100 80GB HBM3",
        compute_capability=(9, 0),
        memory_total_bytes=81559 * MIB,
        mig_current=True,
        mig_devices=parts,
    )
    found = gpus.probe(look(nvml=NvmlReport("ok", gpus=[parent], gpu_count=1)))["gpus"].value
    assert [(gpu.uuid, gpu.mig, gpu.memory_mib) for gpu in found] == [("MIG-a", "3g.40gb", 40448), ("MIG-b", "1g.10gb", 9984)]
    assert {gpu.compute_capability for gpu in found} == {"9.0"}
    assert {gpu.index for gpu in found} == {0}


def test_a_hang_on_the_way_leaves_no_gpu_out(look):
    facts = gpus.probe(look(nvml=NvmlReport("Timeout", "no answer for 2 s (1 of 3 GPUs read)", gpus=[A10], gpu_count=3)))
    assert [(gpu.index, gpu.error) for gpu in facts["gpus"].value] == [(0, UNSET), (1, "Timeout"), (2, "Timeout")]


def test_a_bare_host_has_none(look, bus):
    assert gpus.probe(look(files=bus()))["gpus"].value == []


def test_hardware_without_a_driver_is_no_gpu_of_nvmls(look, bus):
    visit = look(files=bus(("0000:00:07.0", "10DE:2236", "30200", None)), nvml=NvmlReport("DriverNotLoaded"))
    assert gpus.probe(visit)["gpus"].value == []


@pytest.mark.parametrize("status", ["Timeout", "NoPermission", "BindingMissing", "Unknown"])
def test_nobody_knows_where_nvml_fails_and_hardware_is_there(look, bus, status):
    visit = look(files=bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia")), nvml=NvmlReport(status))
    assert gpus.probe(visit)["gpus"] == Unreadable(f"NVML: {status}")


@pytest.mark.parametrize("status", ["Timeout", "Crashed", "LibRmVersionMismatch"])
def test_nobody_knows_where_a_loaded_library_fails_without_a_bus(look, status):
    """As under WSL, which has neither PCI devices nor a kernel module."""
    assert isinstance(gpus.probe(look(nvml=NvmlReport(status)))["gpus"], Unreadable)


def test_the_bus_decides_where_nobody_could_ask_nvml(look, bus):
    assert gpus.probe(look(files=bus(), nvml=NvmlReport("ForkFailed")))["gpus"].value == []
    assert isinstance(gpus.probe(look(nvml=NvmlReport("ForkFailed")))["gpus"], Unreadable)


def test_a_mig_device_whose_memory_cannot_be_read_says_why(look):
    part = NvmlMigDevice("MIG-a", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", errors={"memory": "NotSupported"})
    whole = NvmlMigDevice("MIG-b", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9984 * MIB, 9900 * MIB)
    parent = NvmlGpu(index=0, memory_total_bytes=81559 * MIB, mig_current=True, mig_devices=[whole, part])
    facts = gpus.probe(look(nvml=NvmlReport("ok", gpus=[parent], gpu_count=1)))
    assert facts["gpus"].value[1].memory_mib is UNSET
    assert facts["gpus.1.memory_mib"] == Unreadable("NVML: NotSupported")
    assert "gpus.0.memory_mib" not in facts


def test_nobody_knows_on_a_jetson(look):
    assert isinstance(gpus.probe(look(files={"/etc/nv_tegra_release": "# R36 (release)"}))["gpus"], Unreadable)


def test_the_kernel_module_names_the_gpus_where_nvml_cannot(look):
    visit = look(files={"/proc/driver/nvidia/gpus/0000:00:07.0/information": INFORMATION}, nvml=NvmlReport("LibRmVersionMismatch"))
    gpu = gpus.probe(visit)["gpus"].value[0]
    assert (gpu.index, gpu.name, gpu.pci_bus_id, gpu.memory_mib) == (0, "NVIDIA A10", "0000:00:07.0", UNSET)


def test_a_gpu_never_started_has_no_name():
    gpu = parse_information(NEVER_STARTED)
    assert (gpu.name, gpu.uuid, gpu.pci_bus_id) == (UNSET, UNSET, "0000:3b:00.0")


def test_an_old_drivers_missing_call_is_a_gap_with_a_reason(look):
    device = NvmlGpu(
        index=0, name="Tesla T4", compute_capability=(7, 5), memory_total_bytes=15360 * MIB, errors={"nvlink": "FunctionNotFound"}
    )
    facts = gpus.probe(look(nvml=NvmlReport("ok", gpus=[device], gpu_count=1)))
    assert facts["gpus"].value[0].nvlink is UNSET
    assert facts["gpus.0.nvlink"] == Unreadable("NVML: FunctionNotFound")


def test_processes_with_and_without_names_and_sizes(look):
    busy = NvmlGpu(index=1, processes=[NvmlProcess(4711, 2150 * MIB), NvmlProcess(4712, None)])
    report = NvmlReport("ok", gpus=[A10, busy], gpu_count=2)
    first, second = processes.running(look(files={"/proc/4711/comm": "python\n"}, nvml=report)).value
    assert (first.pid, first.gpu, first.memory_mib, first.name) == (4711, 1, 2150, "python")
    assert (second.memory_mib, second.name) == (UNSET, UNSET)


def test_inside_a_container_process_numbers_are_not_looked_up(look):
    busy = NvmlGpu(index=0, processes=[NvmlProcess(1, MIB)])
    visit = look(files={"/.dockerenv": "", "/proc/1/comm": "sshd\n"}, nvml=NvmlReport("ok", gpus=[busy], gpu_count=1))
    assert processes.running(visit).value[0].name is UNSET


def test_processes_nobody_tells_of(look):
    silent = NvmlReport("ok", gpus=[NvmlGpu(index=0)], gpu_count=1)
    assert isinstance(processes.running(look(nvml=silent)), Unreadable)
    assert isinstance(processes.running(look(nvml=NvmlReport("Timeout"))), Unreadable)
    assert isinstance(processes.running(look()), Absent)
    assert processes.running(look(nvml=NvmlReport("ok", gpus=[A10], gpu_count=1))) == Found([], "NVML")
