"""Where the dynamic loader finds shared libraries, without running `ldconfig`."""

from __future__ import annotations

import posixpath
import re

from envcheck.model.fact import Absent, Fact, Found
from envcheck.probes.look import Look, uname

_FOLDERS = 32  # a hostile LD_LIBRARY_PATH may list thousands
_WSL = "/usr/lib/wsl/lib"


def multiarch(machine: str) -> str:
    """Debian's folder name of an architecture."""
    return f"{machine}-linux-gnu"


def usual_folders(look: Look) -> tuple[str, ...]:
    """The loader's built-in folders of this architecture, and WSL's, which its `ld.so.conf` names first."""
    fact = uname(look)
    name = multiarch(fact.value[2] if isinstance(fact, Found) else "x86_64")
    return (_WSL, f"/usr/lib/{name}", f"/lib/{name}", "/usr/lib64", "/lib64", "/usr/lib", "/lib")


def search_path(look: Look) -> tuple[str, ...]:
    """The absolute folders of `LD_LIBRARY_PATH`, in order."""
    entries = look.env.get("LD_LIBRARY_PATH", "")[:65536].split(":")
    return tuple(entry.rstrip("/") for entry in entries if entry.startswith("/"))[:_FOLDERS]


def configured_folders(look: Look) -> tuple[str, ...]:
    """The folders of `/etc/ld.so.conf.d`, in the order `ldconfig` reads its files."""
    folders: list[str] = []
    for path in look.system.glob("/etc/ld.so.conf.d/*.conf", _FOLDERS):
        fact = look.text(path, 8192)
        if isinstance(fact, Found):
            lines = (line.strip().rstrip("/") for line in fact.value.splitlines())
            folders += [line for line in lines if line.startswith("/")]
    return tuple(folders[:_FOLDERS])


def loader_folders(look: Look) -> tuple[str, ...]:
    """Every folder the loader looks at, first come first served."""
    return tuple(dict.fromkeys((*look.once(search_path), *look.once(configured_folders), *look.once(usual_folders))))


def find_library(look: Look, name: str, folders: tuple[str, ...]) -> Fact[str]:
    """The path of the first folder's copy of a library."""
    for folder in folders:
        path = posixpath.join(folder, name)
        if look.system.exists(path):
            return Found(path, path)
    return Absent(f"{name} is in no library folder")


def name_version(path: str) -> str | None:
    """The version at the end of a library's real name: `libcudnn.so.9.1.0` → `9.1.0`; None for a bare major."""
    found = re.search(r"\.so\.(\d{1,4}(?:\.\d{1,6}){1,3})$", path[-200:])
    return found[1] if found else None


def driver_name_version(path: str) -> str | None:
    """A driver release in a library's real name: `libcuda.so.575.57.08`; None for `libcuda.so.1.1`, which names none."""
    version = name_version(path)
    return version if version and len(version.partition(".")[0]) >= 3 else None
