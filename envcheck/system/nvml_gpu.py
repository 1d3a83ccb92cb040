"""One GPU through nvidia-ml-py, every read guarded on its own. Pure of imports: the module is handed in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlProcess

_FABRIC_STATES = {0: "unsupported", 1: "not-started", 2: "in-progress", 3: "completed"}
_REMOTE_TYPES = {0: "gpu", 2: "switch"}
_VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
_OLD = frozenset({"FunctionNotFound", "NotInModule", "ArgumentVersionMismatch"})  # an older spelling of the same call may do
_MAX_LINKS, _MAX_MIG, _MAX_PROCESSES = 64, 64, 1024


def error_name(error: Exception) -> str:
    """The pynvml exception's name without its prefix; `Error<code>` for a code the module does not know."""
    name = type(error).__name__
    if name.startswith("NVMLError_"):
        return name.removeprefix("NVMLError_")
    if name == "NVMLError":
        return f"Error{getattr(error, 'value', '')}"
    return "NotInModule" if isinstance(error, AttributeError) else name


def text(value: object) -> str | None:
    """A string of NVML: bytes on old modules, and never trusted to be short or printable."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return None
    return "".join(char for char in value[:128] if char.isprintable()).strip()


class Guard:
    """Calls by name that never raise: the value, or None and the error's name in `errors` under `field`.

    Catches Exception, not NVMLError: nvidia-ml-py raises NVMLLibraryMismatchError and ctypes.ArgumentError outside that class.
    """

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.errors: dict[str, str] = {}

    def read(self, field: str, function: str, *args: Any) -> Any:
        """The call's answer, None where it failed."""
        try:
            return getattr(self.nvml, function)(*args)
        except Exception as error:
            self.errors[field] = error_name(error)
            return None

    def first(self, field: str, *calls: tuple[Any, ...]) -> Any:
        """The answer of the first (function, *args) that this driver and this module know."""
        for function, *args in calls:
            self.errors.pop(field, None)
            answer = self.read(field, function, *args)
            if answer is not None or self.errors.get(field) not in _OLD:
                return answer
        return None


def read_gpu(nvml: Any, index: int) -> NvmlGpu:
    """Everything about the device at `index`; what cannot be read is in its `errors`, a lost device in `lost`."""
    guard = Guard(nvml)
    handle = guard.read("handle", "nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return NvmlGpu(index=index, lost=guard.errors["handle"])
    total, free, reserved = _memory(guard, handle)
    fabric_state, fabric_status = _fabric(guard, handle)
    mig = guard.read("mig", "nvmlDeviceGetMigMode", handle)
    return NvmlGpu(
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
        nvlink_peers=list(_nvlink_peers(guard, handle)),
        virtualization=_VIRTUALIZATION.get(guard.read("virtualization", "nvmlDeviceGetVirtualizationMode", handle)),
        processes=_processes(guard, handle),
        errors=guard.errors,
    )


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


def _fabric(guard: Guard, handle: Any) -> tuple[str | None, str | None]:
    """(state, status) of the NVSwitch fabric, by the newer call or by the older one."""
    for function, version in (("nvmlDeviceGetGpuFabricInfoV", 2), ("nvmlDeviceGetGpuFabricInfo", 0)):
        guard.errors.pop("fabric", None)
        info, reference = _fabric_info(version)
        if guard.read("fabric", function, handle, reference) is not None:
            state = _FABRIC_STATES.get(info.state)
            return state, _return_name(guard.nvml, info.status) if state == "completed" else None
        if guard.errors["fabric"] not in _OLD:
            break
    return None, None


def _fabric_info(version: int) -> tuple[Any, Any]:
    """(struct, reference to it) as NVML's header lays it out.

    The module's own struct will not do: up to 12.560.30 at least it makes the cluster's UUID 80 bytes long instead of 16, and then
    reads "unsupported" from beyond what the driver wrote.
    """
    from ctypes import Structure, byref, c_int, c_ubyte, c_uint, sizeof

    head = [("version", c_uint)] if version else []
    tail = [("health", c_uint)] if version else []
    fields = [*head, ("cluster", c_ubyte * 16), ("status", c_int), ("clique", c_uint), ("state", c_ubyte), *tail]
    info: Any = type("FabricInfo", (Structure,), {"_fields_": fields})()
    if version:
        info.version = sizeof(info) | version << 24
    return info, byref(info)


def _return_name(nvml: Any, code: int) -> str:
    if code == 0:
        return "ok"
    try:
        return error_name(nvml.NVMLError(code))
    except Exception:
        return f"Error{code}"


def _nvlink_peers(guard: Guard, handle: Any) -> Iterator[str]:
    """What each active link leads to. A link may be unsupported alone; InvalidArgument means that there are no more."""
    known = False
    for link in range(min(getattr(guard.nvml, "NVML_NVLINK_MAX_LINKS", 18), _MAX_LINKS)):
        active = guard.read("nvlink", "nvmlDeviceGetNvLinkState", handle, link)
        if active is None and guard.errors["nvlink"] != "NotSupported":
            break
        known = known or active is not None
        if active == 1:
            yield _REMOTE_TYPES.get(guard.read("nvlink_remote", "nvmlDeviceGetNvLinkRemoteDeviceType", handle, link), "other")
    if known and guard.errors.get("nvlink") in {"InvalidArgument", "NotSupported"}:
        del guard.errors["nvlink"]


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
