"""One GPU through nvidia-ml-py, every read guarded on its own. Pure of imports: the module is handed in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from envcheck.system.nvml_guard import OLD, Guard, error_name, text
from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlProcess

_FABRIC_STATES = {0: "unsupported", 1: "not-started", 2: "in-progress", 3: "completed"}
_REMOTE_TYPES = {0: "gpu", 2: "switch"}
_VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
_UNCORRECTED, _VOLATILE = 1, 0  # nvmlMemoryErrorType_t, nvmlEccCounterType_t
_GPU_SENSOR = 0
_MIXED_LINKS = 6
_MAX_LINKS, _MAX_MIG, _MAX_PROCESSES = 64, 64, 1024


def read_gpu(nvml: Any, index: int) -> tuple[NvmlGpu, Any]:
    """Everything about the device at `index`, and its handle, None for a lost one; what cannot be read is in its `errors`."""
    guard = Guard(nvml)
    handle = guard.read("handle", "nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return NvmlGpu(index=index, lost=guard.errors["handle"]), None
    total, free, reserved = _memory(guard, handle)
    fabric_state, fabric_status = _fabric(guard, handle)
    mig = guard.read("mig", "nvmlDeviceGetMigMode", handle)
    ecc = guard.read("ecc", "nvmlDeviceGetEccMode", handle)
    remapped, remap_pending, remap_failed = _remapped(guard, handle)
    width, width_max, generation, generation_max = _pcie(guard, handle)
    gpu = NvmlGpu(
        index=index,
        name=text(guard.read("name", "nvmlDeviceGetName", handle)),
        uuid=text(guard.read("uuid", "nvmlDeviceGetUUID", handle)),
        pci_bus_id=text(getattr(guard.read("pci", "nvmlDeviceGetPciInfo", handle), "busId", None)),
        compute_capability=_compute_capability(guard, handle),
        memory_total_bytes=total,
        memory_free_bytes=free,
        memory_reserved_bytes=reserved,
        mig_current=bool(mig[0]) if mig else None,
        mig_pending=bool(mig[1]) if mig else None,
        mig_devices=list(_mig_devices(guard, handle)) if mig and mig[0] else [],
        fabric_state=fabric_state,
        fabric_status=fabric_status,
        nvlink_peers=_nvlink_peers(guard, handle),
        virtualization=_VIRTUALIZATION.get(guard.read("virtualization", "nvmlDeviceGetVirtualizationMode", handle)),
        processes=_processes(guard, handle),
        ecc_current=bool(ecc[0]) if ecc else None,
        ecc_uncorrected=guard.number("ecc_errors", ("nvmlDeviceGetTotalEccErrors", handle, _UNCORRECTED, _VOLATILE)),
        remapped_rows=remapped,
        remap_pending=remap_pending,
        remap_failed=remap_failed,
        retirement_pending=guard.switch("retired_pages", "nvmlDeviceGetRetiredPagesPendingStatus", handle),
        persistence=guard.switch("persistence", "nvmlDeviceGetPersistenceMode", handle),
        compute_mode=guard.number("compute_mode", ("nvmlDeviceGetComputeMode", handle)),
        throttle_mask=guard.number("throttle", *((f"nvmlDeviceGetCurrentClocks{word}Reasons", handle) for word in ("Event", "Throttle"))),
        temperature_c=guard.number("temperature", *((f"nvmlDeviceGetTemperature{word}", handle, _GPU_SENSOR) for word in ("V", ""))),
        power_limit_mw=guard.number("power_limit", ("nvmlDeviceGetEnforcedPowerLimit", handle)),
        power_default_mw=guard.number("power_default", ("nvmlDeviceGetPowerManagementDefaultLimit", handle)),
        pcie_width=width,
        pcie_width_max=width_max,
        pcie_generation=generation,
        pcie_generation_max=generation_max,
        bar1_total_bytes=getattr(guard.read("bar1", "nvmlDeviceGetBAR1MemoryInfo", handle), "bar1Total", None),
        numa_node=guard.number("numa_node", ("nvmlDeviceGetNumaNodeId", handle)),
        display_active=guard.switch("display", "nvmlDeviceGetDisplayActive", handle),
        errors=guard.errors,
    )
    return gpu, handle


def _compute_capability(guard: Guard, handle: Any) -> tuple[int, int] | None:
    pair = guard.read("compute_capability", "nvmlDeviceGetCudaComputeCapability", handle)
    return (int(pair[0]), int(pair[1])) if pair else None


def _memory(guard: Guard, handle: Any) -> tuple[int | None, int | None, int | None]:
    """(total, free, reserved) in bytes. Version 1 counts the driver's own part as used; free is the same in both."""
    version = getattr(guard.nvml, "nvmlMemory_v2", None)
    plain = ("nvmlDeviceGetMemoryInfo", handle)
    calls = (plain,) if version is None else ((*plain, version), plain)
    memory = guard.first("memory", *calls)
    if memory is None:
        return None, None, None
    return int(memory.total), int(memory.free), getattr(memory, "reserved", None)


def _mig_devices(guard: Guard, handle: Any) -> Iterator[NvmlMigDevice]:
    """Every MIG device; their indices have holes, so NotFound is skipped and does not end the loop."""
    most = guard.read("mig_devices", "nvmlDeviceGetMaxMigDeviceCount", handle)
    for index in range(min(int(most or 0), _MAX_MIG)):
        inner = Guard(guard.nvml)
        device = inner.read("handle", "nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        if device is None:
            if inner.errors["handle"] != "NotFound":
                guard.errors["mig_devices"] = inner.errors["handle"]
            continue
        total, free, _ = _memory(inner, device)
        name = text(inner.read("name", "nvmlDeviceGetName", device))
        uuid = text(inner.read("uuid", "nvmlDeviceGetUUID", device))
        yield NvmlMigDevice(uuid=uuid, name=name, memory_total_bytes=total, memory_free_bytes=free, errors=inner.errors)


def _remapped(guard: Guard, handle: Any) -> tuple[int | None, bool | None, bool | None]:
    """Rows of memory replaced by spare ones: how many, whether more wait for a reset, whether there was no spare one left."""
    rows = guard.read("remapped_rows", "nvmlDeviceGetRemappedRows", handle)
    return (int(rows[0]) + int(rows[1]), bool(rows[2]), bool(rows[3])) if rows else (None, None, None)


def _pcie(guard: Guard, handle: Any) -> Iterator[int | None]:
    """Width and generation, each as the link is now and as board and slot allow it; one error stands for the four."""
    for which in ("CurrPcieLinkWidth", "MaxPcieLinkWidth", "CurrPcieLinkGeneration", "MaxPcieLinkGeneration"):
        yield guard.number("pcie", (f"nvmlDeviceGet{which}", handle))


def _fabric(guard: Guard, handle: Any) -> tuple[str | None, str | None]:
    """(state, status) of the NVSwitch fabric, by the newer call or by the older one."""
    from ctypes import byref, sizeof

    for function, version in (("nvmlDeviceGetGpuFabricInfoV", 2), ("nvmlDeviceGetGpuFabricInfo", 0)):
        guard.errors.pop("fabric", None)
        info = _fabric_info(version)()
        if version:
            info.version = sizeof(info) | version << 24
        if guard.read("fabric", function, handle, byref(info)) is not None:
            state = _FABRIC_STATES.get(info.state)
            return state, _return_name(guard.nvml, info.status) if state == "completed" else None
        if guard.errors["fabric"] not in OLD:
            break
    return None, None


@lru_cache
def _fabric_info(version: int) -> Any:
    """The struct as NVML's header lays it out.

    The module's own will not do: up to 12.560.30 at least it makes the cluster's UUID 80 bytes long instead of 16, and then reads
    "unsupported" from beyond what the driver wrote.
    """
    from ctypes import Structure, c_int, c_ubyte, c_uint

    head = [("version", c_uint)] if version else []
    tail = [("health", c_uint)] if version else []
    fields = [*head, ("cluster", c_ubyte * 16), ("status", c_int), ("clique", c_uint), ("state", c_ubyte), *tail]
    return type("FabricInfo", (Structure,), {"_fields_": fields})


def _return_name(nvml: Any, code: int) -> str:
    if code == 0:
        return "ok"
    try:
        return error_name(nvml.NVMLError(code))
    except Exception:
        return f"Error{code}"


def _nvlink_peers(guard: Guard, handle: Any) -> list[str]:
    """What each active link leads to. A link may be unsupported alone; InvalidArgument means that there are no more."""
    known, active = False, []
    for link in range(min(getattr(guard.nvml, "NVML_NVLINK_MAX_LINKS", 18), _MAX_LINKS)):
        state = guard.read("nvlink", "nvmlDeviceGetNvLinkState", handle, link)
        if state is None and guard.errors["nvlink"] != "NotSupported":
            break
        known = known or state is not None
        if state == 1:
            active.append(link)
    if known and guard.errors.get("nvlink") in {"InvalidArgument", "NotSupported"}:
        del guard.errors["nvlink"]
    return _remote_types(guard, handle, active)


def _remote_types(guard: Guard, handle: Any, links: list[int]) -> list[str]:
    """The kind of device at the other end of each link.

    Where there are more than six links all lead to the same kind: only Volta, with six, was ever joined to processors as well. The first
    and the last are asked, and all of them where those differ.
    """
    asked = [links[0], links[-1]] if len(links) > _MIXED_LINKS else links
    kinds = [_remote_type(guard, handle, link) for link in asked]
    if len(asked) == len(links):
        return kinds
    return [kinds[0]] * len(links) if kinds[0] == kinds[1] else [_remote_type(guard, handle, link) for link in links]


def _remote_type(guard: Guard, handle: Any, link: int) -> str:
    return _REMOTE_TYPES.get(guard.read("nvlink_remote", "nvmlDeviceGetNvLinkRemoteDeviceType", handle, link), "other")


def _processes(guard: Guard, handle: Any) -> list[NvmlProcess] | None:
    """Compute and graphics processes, one entry a process. `_v3`, then `_v2`: the plain name raises on drivers without `_v3`."""
    used: dict[int, int | None] = {}
    known = False
    for field, kind in (("processes", "Compute"), ("graphics_processes", "Graphics")):
        names = [f"nvmlDeviceGet{kind}RunningProcesses_v{version}" for version in (3, 2)]
        found = guard.first(field, *((name, handle) for name in names))
        known = known or found is not None
        for process in list(found or ())[:_MAX_PROCESSES]:
            bytes_used = process.usedGpuMemory
            used[process.pid] = max(used.get(process.pid) or 0, bytes_used) if bytes_used is not None else used.get(process.pid)
    return [NvmlProcess(pid, n) for pid, n in used.items()] if known else None
