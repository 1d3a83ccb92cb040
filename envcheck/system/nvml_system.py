"""NVML as a whole through nvidia-ml-py: start it, read the driver, then every device and pair. The module is handed in."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from envcheck.system.nvml import DeviceRead, Opened, PairsRead, Tell
from envcheck.system.nvml_gpu import read_gpu
from envcheck.system.nvml_guard import Guard, error_name, text
from envcheck.system.port import NvmlReport

_MAX_GPUS = 256


def read_nvml(nvml: Any, library_path: str | None, tell: Tell) -> None:
    """Tell the report of an importable binding, each device, then the pairs; a device that fails does not keep the others back."""
    try:
        nvml.nvmlInit()
    except Exception as error:
        status = _status(error)
        detail = str(error) if status != "BindingBroken" else f"nvmlInit: {type(error).__name__}: {error}"
        tell(Opened(NvmlReport(status, detail[:300], library_path=library_path)))
        return
    # No nvmlShutdown: the process ends right after, and on a sick driver it is one more call that can hang.
    guard = Guard(nvml)
    report = NvmlReport(
        status="ok",
        driver_version=text(guard.read("driver_version", "nvmlSystemGetDriverVersion")),
        nvml_version=text(guard.read("nvml_version", "nvmlSystemGetNVMLVersion")),
        cuda_version=_cuda_version(guard),
        library_path=library_path,
        errors=guard.errors,
    )
    try:
        count = int(nvml.nvmlDeviceGetCount())
    except Exception as error:
        tell(Opened(structs.replace(report, status=_status(error), detail="nvmlDeviceGetCount")))
        return
    tell(Opened(structs.replace(report, gpu_count=count)))
    handles: dict[int, Any] = {}
    for index in range(min(count, _MAX_GPUS)):
        gpu, handle = read_gpu(nvml, index)
        tell(DeviceRead(gpu))
        if handle is not None:
            handles[index] = handle
    if len(handles) > 1:
        from envcheck.system.nvml_pairs import read_pairs

        tell(PairsRead(list(read_pairs(nvml, handles))))


def _cuda_version(guard: Guard) -> int | None:
    """Both calls ask the libcuda.so.1 the loader takes, so a compat library answers here too; without one, only the plain call does."""
    version = guard.read("cuda_version", "nvmlSystemGetCudaDriverVersion_v2")
    if version is None and guard.errors["cuda_version"] in {"LibraryNotFound", "FunctionNotFound", "NotInModule"}:
        del guard.errors["cuda_version"]
        version = guard.read("cuda_version", "nvmlSystemGetCudaDriverVersion")
    return version if isinstance(version, int) and version > 0 else None


def _status(error: Exception) -> str:
    """NVML's own error by name; anything else means that the module named `pynvml` is not the binding, or not whole."""
    return error_name(error) if type(error).__name__.startswith("NVMLError") else "BindingBroken"
