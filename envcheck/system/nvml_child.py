"""What the forked child does: load libcuda and NVML, ask them, send each answer as soon as it is there.

The libraries are loaded before `pynvml` and our readers of it are imported: those cost three times as much, for nothing where there is
no library. A `pynvml` that cannot be imported at all is a status, not an error.
"""

from __future__ import annotations

from envcheck.system.nvml import LibcudaSeen, Opened, Tell
from envcheck.system.port import NvmlReport

_NVML = "libnvidia-ml.so.1"
_LIBCUDA = "libcuda.so.1"
_WSL = "/usr/lib/wsl/lib/"  # mounted by WSL 2; not every image's loader searches it


def read_all(tell: Tell) -> None:
    """Tell libcuda's version, then NVML's report, then each device."""
    tell(libcuda_version())
    failure, path = load_library(_NVML)
    if failure is not None:
        tell(Opened(NvmlReport("LibraryNotFound", failure)))
        return
    from envcheck.system.nvml_binding import binding

    try:
        pynvml = binding()
    except ImportError as error:
        tell(Opened(NvmlReport("BindingMissing", str(error), library_path=path)))
        return
    except Exception as error:
        tell(Opened(NvmlReport("BindingBroken", f"{type(error).__name__}: {error}"[:300], library_path=path)))
        return
    from envcheck.system.nvml_system import read_nvml

    read_nvml(pynvml, path, tell)


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


def libcuda_version() -> LibcudaSeen:
    """`cuDriverGetVersion`, which needs no `cuInit` and touches no device."""
    import ctypes

    failure, path = load_library(_LIBCUDA)
    if failure is not None:
        missing = _LIBCUDA in failure and "No such file" in failure
        return LibcudaSeen(failure, absent=missing)
    try:
        version = ctypes.c_int(0)
        code = int(ctypes.CDLL(path or _LIBCUDA).cuDriverGetVersion(ctypes.byref(version)))
    except (AttributeError, OSError) as error:
        return LibcudaSeen(str(error))
    if code != 0 or version.value <= 0:
        return LibcudaSeen(f"cuDriverGetVersion returned error {code}")
    return LibcudaSeen(path or _LIBCUDA, version.value)
