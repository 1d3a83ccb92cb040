"""NVIDIA GPUs as NVML shows them; as the kernel module lists them where NVML fails."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import Gpu
from envcheck.model.units import MIB
from envcheck.probes.driver import NO_DRIVER, kernel_version
from envcheck.probes.facts import Facts
from envcheck.probes.gpu_details import unread, with_details
from envcheck.probes.look import Look, nvml
from envcheck.probes.memory import available_mib, total_mib
from envcheck.probes.pci_bus import BUS, functions, nvidia
from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlReport

FIELDS = ("gpus",)
_GONE = frozenset({"GpuIsLost", "ResetRequired"})
# Document field → the NVML read that fills it.
_READS = {
    "name": "name",
    "uuid": "uuid",
    "pci_bus_id": "pci",
    "compute_capability": "compute_capability",
    "memory_mib": "memory",
    "memory_free_mib": "memory",
    "mig": "mig",
    "nvlink": "nvlink",
}


def probe(look: Look) -> Facts:
    """The list under `gpus`, and `gpus.<place>.<field>` for each value that could not be had."""
    report = look.once(nvml)
    if report.status == "ok" or report.gpus:
        entries = [entry for device in report.gpus for entry in _entries(look, device)]
        gpus = [gpu for gpu, _ in entries] + _unanswered(report)
        gaps = {f"gpus.{place}.{field}": gap for place, entry in enumerate(entries) for field, gap in _gaps(*entry)}
        return {"gpus": Found(gpus, "NVML"), **gaps}
    listed = list(_listed_by_module(look))
    if listed:
        return {"gpus": Found(listed, "/proc/driver/nvidia/gpus")}
    return {"gpus": _none(look, report)}


def _none(look: Look, report: NvmlReport) -> Fact[list[Gpu]]:
    """No GPU to name: either there is none, or nobody knows."""
    if look.system.exists("/etc/nv_tegra_release"):
        return Unreadable("Jetson: its GPU is not on the PCI bus")
    bus, kernel = look.once(functions), look.once(kernel_version)
    if report.status in NO_DRIVER and not isinstance(kernel, Found):
        return Found([], f"NVML: {report.status}")
    # Without an answer of NVML the bus decides, unless NVML was loaded: WSL has no such bus and yet a GPU.
    if report.status == "ForkFailed" and isinstance(bus, Found) and not nvidia(look, "gpu") and isinstance(kernel, Absent):
        return Found([], "no NVIDIA GPU on the PCI bus, no kernel module")
    return Unreadable(f"NVML: {report.status}")


def _entries(look: Look, device: NvmlGpu) -> list[tuple[Gpu, dict[str, str]]]:
    """One entry, or one a MIG device, for CUDA uses a divided GPU only through its parts; with the reads that failed."""
    gpu = to_gpu(device)
    if gpu.unified_memory is True:
        gpu = _with_system_memory(look, gpu)
    if not device.lost:
        gpu = _with_numa_node(look, gpu)
    if device.mig_current and device.mig_devices:
        return [(_slice(gpu, part), {**device.errors, **part.errors}) for part in device.mig_devices]
    return [(gpu, device.errors)]


def _gaps(gpu: Gpu, errors: dict[str, str]) -> Iterator[tuple[str, Unreadable]]:
    known = ((field, read) for field, read in _READS.items() if getattr(gpu, field) is UNSET)
    silent = gpu.error if isinstance(gpu.error, str) else "does not say"
    for field, read in (*known, *unread(gpu)):
        yield field, Unreadable(f"NVML: {errors.get(read, silent)}")


def to_gpu(device: NvmlGpu) -> Gpu:
    """NVML's reading in the document's terms; bytes become MiB, a lost GPU keeps its index and the error."""
    if device.lost:
        return Gpu(index=device.index, error=device.lost)
    gone = next((f"{read}: {name}" for read, name in device.errors.items() if name in _GONE), UNSET)
    capability = device.compute_capability
    gpu = Gpu(
        index=device.index,
        name=_or_unset(device.name),
        uuid=_or_unset(device.uuid),
        compute_capability=f"{capability[0]}.{capability[1]}" if capability else UNSET,
        memory_mib=_mib(device.memory_total_bytes),
        memory_free_mib=_mib(device.memory_free_bytes),
        mig=_mig(device),
        nvlink=_nvlink(device),
        pci_bus_id=_or_unset(bus_address(device.pci_bus_id)),
        unified_memory=device.memory_total_bytes is None and device.errors.get("memory", "NotSupported") == "NotSupported",
        error=gone,
    )
    return with_details(gpu, device)


def bus_address(bus_id: str | None) -> str | None:
    """NVML's `00000000:3B:00.0` as `/sys` writes it: `0000:3b:00.0`."""
    found = re.fullmatch(r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])", bus_id or "")
    return f"{int(found[1], 16):04x}:{found[2].lower()}" if found else None


def _or_unset(value: str | None) -> str | UnsetType:
    return value or UNSET


def _mib(n_bytes: int | None) -> float | UnsetType:
    return n_bytes / MIB if n_bytes is not None else UNSET


def _mig(device: NvmlGpu) -> bool | UnsetType | None:
    if device.mig_current is not None:
        return device.mig_current
    return None if device.errors.get("mig", "NotSupported") == "NotSupported" else UNSET


def _nvlink(device: NvmlGpu) -> bool | UnsetType:
    return bool(device.nvlink_peers) if device.nvlink_peers or device.errors.get("nvlink", "NotSupported") == "NotSupported" else UNSET


def _with_system_memory(look: Look, gpu: Gpu) -> Gpu:
    """A GPU that shares the system's memory answers NotSupported; what CUDA offers there is the system's memory."""
    total, free = look.once(total_mib), look.once(available_mib)
    return replace(
        gpu,
        memory_mib=total.value if isinstance(total, Found) else UNSET,
        memory_free_mib=free.value if isinstance(free, Found) else UNSET,
    )


def _with_numa_node(look: Look, gpu: Gpu) -> Gpu:
    """The node whose memory is near by the bus, None where the firmware names none; NVML's own answer is about GPUs that are nodes."""
    if not isinstance(gpu.pci_bus_id, str):
        return gpu
    fact = look.line(f"{BUS}/{gpu.pci_bus_id}/numa_node")
    if not isinstance(fact, Found) or not re.fullmatch(r"-1|\d{1,4}", fact.value):
        return gpu
    return replace(gpu, numa_node=None if fact.value == "-1" else int(fact.value))


def _slice(gpu: Gpu, part: NvmlMigDevice) -> Gpu:
    name = part.name or gpu.name
    profile = re.search(r"MIG (\S+)$", name) if isinstance(name, str) else None
    return replace(
        gpu,
        name=name,
        uuid=_or_unset(part.uuid),
        memory_mib=_mib(part.memory_total_bytes),
        memory_free_mib=_mib(part.memory_free_bytes),
        mig=profile[1] if profile else True,
        unified_memory=False,
    )


def _unanswered(report: NvmlReport) -> list[Gpu]:
    """GPUs that NVML announced and never told of, because it hung or died on the way."""
    told = {device.index for device in report.gpus}
    return [Gpu(index=index, error=report.status) for index in range(min(report.gpu_count or 0, 256)) if index not in told]


def parse_information(text: str) -> Gpu:
    """A GPU from `/proc/driver/nvidia/gpus/<address>/information`; `Unknown` and question marks mean that it was never started."""
    pairs = (line.partition(":") for line in text.splitlines()[:30])
    values = {key.strip(): value.strip() for key, colon, value in pairs if colon}
    uuid, name = values.get("GPU UUID", ""), values.get("Model", "")
    return Gpu(
        name=name if name and name != "Unknown" else UNSET,
        uuid=uuid if uuid and "?" not in uuid else UNSET,
        pci_bus_id=_or_unset(bus_address(values.get("Bus Location"))),
    )


def _listed_by_module(look: Look) -> Iterator[Gpu]:
    for place, path in enumerate(look.system.glob("/proc/driver/nvidia/gpus/*/information", 64)):
        fact = look.text(path, 4096)
        if isinstance(fact, Found):
            yield replace(parse_information(fact.value), index=place)
