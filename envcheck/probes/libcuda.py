"""The libcuda.so.1 that the loader takes, which a forward-compatibility package or a stub may have put in the driver's place."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.libraries import copies, cuda_folders, driver_name_version, is_compat, is_stub, usual_folders
from envcheck.probes.look import Look

FIELDS = (
    *("libcuda.path", "libcuda.version", "libcuda.compat", "libcuda.stub", "libcuda.development_link"),
    "libcuda.compat_available",
)
_NAME, _LINK = "libcuda.so.1", "libcuda.so"
_MOST = 16


def probe(look: Look) -> Facts:
    """All facts under `libcuda`."""
    path, offered = taken(look), compat_libraries(look)
    where = "/usr/local/cuda*/compat, /opt/cuda*/compat"
    if not isinstance(path, Found):
        available: Fact[list[str]] = Found(offered, where) if offered else Absent(f"{where}: no {_NAME}")
        return {**all_of(FIELDS[:5], path), "libcuda.compat_available": available}
    real = look.system.resolve(path.value)
    names = (path.value, real.value) if isinstance(real, Found) else (path.value,)
    version = driver_name_version(names[-1])
    return {
        "libcuda.path": path,
        "libcuda.version": Found(version, path.value) if version else Unreadable("its name does not tell its release"),
        "libcuda.compat": Found(any(map(is_compat, names)), path.value),
        "libcuda.stub": Found(any(map(is_stub, names)), path.value),
        "libcuda.development_link": development_link(look, path.value),
        "libcuda.compat_available": Found(offered, where),
    }


def taken(look: Look) -> Fact[str]:
    """The file that was really loaded, else the first copy in the loader's order."""
    return first_found(_takings(look))


def _takings(look: Look) -> Iterator[Fact[str]]:
    loaded = look.system.libcuda_version()
    if isinstance(loaded, Found) and loaded.source.startswith("/"):
        yield Found(loaded.source, "loader")
    yield Absent(f"the loader: {'names no file' if isinstance(loaded, Found) else loaded.why}")
    yield from copies(look, _NAME)


def development_link(look: Look, path: str) -> Fact[bool]:
    """Whether a linker told `-lcuda` finds `libcuda.so`: beside the library, where the variables point, or in the usual folders."""
    named = [look.env.get("TRITON_LIBCUDA_PATH", ""), *look.env.get("LIBRARY_PATH", "")[:65536].split(":")[:32]]
    folders = (posixpath.dirname(path), *named, *usual_folders(look))
    for folder in dict.fromkeys(folder.rstrip("/") for folder in folders if folder.startswith("/")):
        link = posixpath.join(folder, _LINK)
        if look.system.exists(link):
            return Found(True, link)
    return Found(False, f"{posixpath.dirname(path)}, LIBRARY_PATH, TRITON_LIBCUDA_PATH, the loader's folders")


def compat_libraries(look: Look) -> list[str]:
    """The real files of all forward-compatibility libraries on disk, whose names tell their release, each once."""
    env = look.env
    folders = [f"{root}/{name}" for root in look.once(cuda_folders) for name in ("compat", "compat_orin")]
    folders += [f"{env[name].rstrip('/')}/compat" for name in ("CUDA_HOME", "CUDA_PATH") if env.get(name, "").startswith("/")]
    if env.get("CONDA_PREFIX", "").startswith("/"):
        folders.append(f"{env['CONDA_PREFIX']}/cuda-compat")
    folders.append(env.get("VLLM_CUDA_COMPATIBILITY_PATH", ""))
    libraries = (f"{folder}/{_NAME}" for folder in dict.fromkeys(folders) if folder.startswith("/"))
    places = (look.system.resolve(path) for path in libraries)
    return list(dict.fromkeys(place.value for place in places if isinstance(place, Found)))[:_MOST]
