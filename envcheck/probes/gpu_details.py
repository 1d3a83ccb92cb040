"""What NVML says of a GPU's state, modes and links, in the document's terms. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from envcheck.model.host import Gpu
from envcheck.model.host_parts import GpuHealth, PcieLink
from envcheck.model.units import MIB
from envcheck.system.port import NvmlGpu

T = TypeVar("T")
_COMPUTE_MODES = {0: "default", 2: "prohibited", 3: "exclusive-process"}
# nvmlClocksEventReason bits that cost speed; the others say that the GPU idles or that someone fixed its clocks.
_THROTTLE = (
    *((0x04, "power-cap"), (0x08, "hardware-slowdown"), (0x20, "software-thermal")),
    *((0x40, "hardware-thermal"), (0x80, "hardware-power-brake")),
)
# Document field → the NVML read that fills it.
READS = {
    "mig_pending": "mig",
    "virtualization": "virtualization",
    "persistence": "persistence",
    "compute_mode": "compute_mode",
    "power_limit_w": "power_limit",
    "power_default_w": "power_default",
    "bar1_mib": "bar1",
    "numa_node": "numa_node",
    "nvlinks": "nvlink",
    "display": "display",
}
PART_READS = {
    "health": {
        "ecc": "ecc",
        "uncorrected_errors": "ecc_errors",
        "remapped_rows": "remapped_rows",
        "remap_pending": "remapped_rows",
        "remap_failed": "remapped_rows",
        "retirement_pending": "retired_pages",
        "throttle": "throttle",
        "temperature_c": "temperature",
    },
    "pcie": dict.fromkeys(PcieLink.__struct_fields__, "pcie"),
}


def with_details(gpu: Gpu, device: NvmlGpu) -> Gpu:
    """The GPU with power in W, memory in MiB, modes by name: None where the board has no such thing, UNSET where nobody knows."""
    return replace(
        gpu,
        mig_pending=_mig_pending(device),
        virtualization=_stated(device, "virtualization", device.virtualization),
        persistence=_stated(device, "persistence", device.persistence),
        compute_mode=_stated(device, "compute_mode", _COMPUTE_MODES.get(-1 if device.compute_mode is None else device.compute_mode)),
        power_limit_w=_stated(device, "power_limit", _per(device.power_limit_mw, 1000)),
        power_default_w=_stated(device, "power_default", _per(device.power_default_mw, 1000)),
        bar1_mib=_stated(device, "bar1", _per(device.bar1_total_bytes, MIB)),
        numa_node=UNSET if device.numa_node is None else device.numa_node,  # NotSupported: the GPU is no node, but it sits near one
        nvlinks=_nvlinks(device),
        display=_stated(device, "display", device.display_active),
        pcie=_whole(_pcie(device)),
        health=_whole(_health(device)),
    )


def unread(gpu: Gpu) -> Iterator[tuple[str, str]]:
    """(field, read) for each of these fields that is not known; `health.ecc` for one of a part."""
    for field, read in READS.items():
        if getattr(gpu, field) is UNSET:
            yield field, read
    for part, reads in PART_READS.items():
        held = getattr(gpu, part)
        if held is UNSET:
            yield part, next(iter(reads.values()))
        elif held is not None:
            yield from ((f"{part}.{field}", read) for field, read in reads.items() if getattr(held, field) is UNSET)


def _stated(device: NvmlGpu, read: str, value: T | None) -> T | UnsetType | None:
    if value is not None:
        return value
    return None if device.errors.get(read) == "NotSupported" else UNSET


def _per(value: int | None, unit: int) -> float | None:
    return None if value is None else value / unit


def _mig_pending(device: NvmlGpu) -> bool | UnsetType | None:
    """The mode after a reset where it differs, None where it does not."""
    if device.mig_current is None or device.mig_pending is None:
        return _stated(device, "mig", None)
    return device.mig_pending if device.mig_pending != device.mig_current else None


def _nvlinks(device: NvmlGpu) -> int | UnsetType | None:
    """How many links are up: 0 where all are down, None where the board has none."""
    if device.nvlink_peers or "nvlink" not in device.errors:
        return len(device.nvlink_peers)
    return _stated(device, "nvlink", None)


def _pcie(device: NvmlGpu) -> PcieLink:
    return PcieLink(
        width=_stated(device, "pcie", device.pcie_width),
        width_max=_stated(device, "pcie", device.pcie_width_max),
        generation=_stated(device, "pcie", device.pcie_generation),
        generation_max=_stated(device, "pcie", device.pcie_generation_max),
    )


def _health(device: NvmlGpu) -> GpuHealth:
    mask = device.throttle_mask
    return GpuHealth(
        ecc=_stated(device, "ecc", device.ecc_current),
        uncorrected_errors=_stated(device, "ecc_errors", device.ecc_uncorrected),
        remapped_rows=_stated(device, "remapped_rows", device.remapped_rows),
        remap_pending=_stated(device, "remapped_rows", device.remap_pending),
        remap_failed=_stated(device, "remapped_rows", device.remap_failed),
        retirement_pending=_stated(device, "retired_pages", device.retirement_pending),
        throttle=_stated(device, "throttle", None if mask is None else [name for bit, name in _THROTTLE if mask & bit]),
        temperature_c=_stated(device, "temperature", device.temperature_c),
    )


Part = TypeVar("Part", bound=msgspec.Struct)


def _whole(part: Part) -> Part | UnsetType | None:
    """The part; None where the board has none of it, UNSET where nothing of it is known."""
    values = [getattr(part, field) for field in part.__struct_fields__]
    if all(value is UNSET for value in values):
        return UNSET
    return None if all(value is None for value in values) else part
