"""The libcuda.so.1 that the loader takes, which a forward-compatibility package may have put in the driver's place."""

from __future__ import annotations

import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.libraries import driver_name_version, find_library, loader_folders
from envcheck.probes.look import Look

FIELDS = ("libcuda.path", "libcuda.version", "libcuda.compat")


def probe(look: Look) -> Facts:
    """All facts under `libcuda`."""
    path = taken(look)
    if not isinstance(path, Found):
        return all_of(FIELDS, path)
    real = look.system.resolve(path.value)
    version = driver_name_version(real.value) if isinstance(real, Found) else None
    return {
        "libcuda.path": path,
        "libcuda.version": Found(version, path.value) if version else Unreadable("its name does not tell its release"),
        "libcuda.compat": Found(is_compat(path.value) or (isinstance(real, Found) and is_compat(real.value)), path.value),
    }


def taken(look: Look) -> Fact[str]:
    """The file that was really loaded, else the first copy in the loader's folders."""
    loaded = look.system.libcuda_version()
    if isinstance(loaded, Found) and loaded.source.startswith("/"):
        return Found(loaded.source, "loader")
    path = find_library(look, "libcuda.so.1", look.once(loader_folders))
    return path if isinstance(path, Found) else Absent(path.why)


def is_compat(path: str) -> bool:
    """NVIDIA's packages put it into `/usr/local/cuda-X.Y/compat`; Jetson's into `compat_orin`."""
    return re.search(r"/compat(_\w+)?/", path) is not None
