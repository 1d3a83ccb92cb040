"""What the forked child does: load libcuda and NVML, ask them, send each answer as soon as it is there.

Traps this answers: `dlopen` before `import pynvml`, which costs three times as much and is wasted on a host without the library;
an old `pynvml` package that shadows nvidia-ml-py lacks names and warns; functions fail one by one on old drivers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from msgspec import structs

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.nvml import DeviceRead, LibcudaSeen, Message, Opened
from envcheck.system.nvml_gpu import Guard, error_name, read_gpu, text
from envcheck.system.port import NvmlReport

_NVML = "libnvidia-ml.so.1"
_LIBCUDA = "libcuda.so.1"
_WSL = "/usr/lib/wsl/lib/"  # mounted by WSL 2; not every image's loader searches it
_MAX_GPUS = 256

Tell = Callable[[Message], None]


def read_all(tell: Tell) -> None:
    """Tell libcuda's version, then NVML's report, then each device."""
    tell(LibcudaSeen(libcuda_version()))
    failure, path = load_library(_NVML)
    if failure is not None:
        tell(Opened(NvmlReport("LibraryNotFound", failure)))
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the retired package `pynvml` announces its retirement
            import pynvml
    except ImportError as error:
        tell(Opened(NvmlReport("BindingMissing", str(error), library_path=path)))
        return
    except Exception as error:
        tell(Opened(NvmlReport("BindingBroken", f"{type(error).__name__}: {error}"[:300], library_path=path)))
        return
    read_nvml(pynvml, path, tell)


def read_nvml(nvml: Any, library_path: str | None, tell: Tell) -> None:
    """Tell the report of an importable binding, then each device; a device that fails does not keep the others back."""
    try:
        nvml.nvmlInit()
    except Exception as error:
        tell(Opened(NvmlReport(_init_status(error), str(error)[:300], library_path=library_path)))
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
    count = guard.read("count", "nvmlDeviceGetCount")
    if count is None:
        why = guard.errors.pop("count")
        tell(Opened(structs.replace(report, status=why, detail="nvmlDeviceGetCount")))
        return
    tell(Opened(structs.replace(report, gpu_count=int(count))))
    for index in range(min(int(count), _MAX_GPUS)):
        tell(DeviceRead(read_gpu(nvml, index)))


def _cuda_version(guard: Guard) -> int | None:
    """Both calls ask the libcuda.so.1 the loader takes, so a compat library answers here too; without one, only the plain call does."""
    version = guard.read("cuda_version", "nvmlSystemGetCudaDriverVersion_v2")
    if version is None and guard.errors["cuda_version"] in {"LibraryNotFound", "FunctionNotFound", "NotInModule"}:
        del guard.errors["cuda_version"]
        version = guard.read("cuda_version", "nvmlSystemGetCudaDriverVersion")
    return version if isinstance(version, int) and version > 0 else None


def _init_status(error: Exception) -> str:
    name = error_name(error)
    return "BindingBroken" if name == "NotInModule" else name


def load_library(name: str) -> tuple[str | None, str | None]:
    """(the loader's message, None) or (None, the file it took): `dlopen` by name, then in WSL's own folder."""
    import ctypes

    first: str | None = None
    for candidate in (name, _WSL + name):
        try:
            ctypes.CDLL(candidate)
        except OSError as error:
            first = first or str(error)
            continue
        return None, loaded_path(name) or candidate
    return first, None


def loaded_path(name: str) -> str | None:
    """The file behind a loaded library: the links' names say nothing about the version, the file's name does."""
    stem = name.partition(".so")[0] + ".so"
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                path = line[line.find("/") :].rstrip("\n") if "/" in line else ""
                if path.rpartition("/")[2].startswith(stem):
                    return path.encode("utf-8", "replace").decode("utf-8", "replace")
    except OSError:
        pass
    return None


def libcuda_version() -> Fact[int]:
    """`cuDriverGetVersion`, which needs no `cuInit` and touches no device."""
    import ctypes

    failure, path = load_library(_LIBCUDA)
    if failure is not None:
        missing = _LIBCUDA in failure and "No such file" in failure
        return Absent(failure) if missing else Unreadable(failure)
    try:
        version = ctypes.c_int(0)
        code = int(ctypes.CDLL(path or _LIBCUDA).cuDriverGetVersion(ctypes.byref(version)))
    except (AttributeError, OSError) as error:
        return Unreadable(str(error))
    if code != 0 or version.value <= 0:
        return Unreadable(f"cuDriverGetVersion returned error {code}")
    return Found(version.value, path or _LIBCUDA)
