"""Where the dynamic loader finds shared libraries, without running `ldconfig`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found
from envcheck.probes.loader_cache import CACHE, cache, cached_paths
from envcheck.probes.look import Look, uname

_FOLDERS = 32  # a hostile LD_LIBRARY_PATH may list thousands
_PATH_BYTES = 4096  # Linux refuses longer ones
_CONF = "/etc/ld.so.conf"
_WSL = "/usr/lib/wsl/lib"


def multiarch(machine: str) -> str:
    """Debian's folder name of an architecture."""
    return f"{machine}-linux-gnu"


def machine(look: Look) -> str:
    """The machine type, the most frequent one where the host does not tell."""
    fact = look.once(uname)
    return fact.value[2] if isinstance(fact, Found) else "x86_64"


def built_in_folders(look: Look) -> tuple[str, ...]:
    """The loader's own folders of this architecture, whatever its files say."""
    name = multiarch(machine(look))
    return (f"/usr/lib/{name}", f"/lib/{name}", "/usr/lib64", "/lib64", "/usr/lib", "/lib")


def usual_folders(look: Look) -> tuple[str, ...]:
    """The loader's built-in folders, and WSL's, which its `ld.so.conf` names first."""
    return (_WSL, *built_in_folders(look))


def search_entries(look: Look) -> tuple[str, ...]:
    """The entries of `LD_LIBRARY_PATH` as they stand, in order; an empty one means the current folder."""
    value = look.env.get("LD_LIBRARY_PATH", "")
    entries = value[:65536].replace(";", ":").split(":") if value else []
    return tuple(entry for entry in entries[:_FOLDERS] if len(entry) < _PATH_BYTES)


def search_path(look: Look) -> tuple[str, ...]:
    """The absolute folders of `LD_LIBRARY_PATH`, in order."""
    return tuple(entry.rstrip("/") or "/" for entry in look.once(search_entries) if entry.startswith("/"))


def preloaded(look: Look) -> tuple[str, ...]:
    """The entries of `LD_PRELOAD`: paths, or names looked for like any other library."""
    return tuple(entry for entry in look.env.get("LD_PRELOAD", "")[:65536].replace(":", " ").split()[:_FOLDERS] if len(entry) < _PATH_BYTES)


def parse_conf(text: str) -> tuple[tuple[bool, str], ...]:
    """The lines of an `ld.so.conf`: (True, a pattern to include) or (False, a folder)."""
    found: list[tuple[bool, str]] = []
    for line in text.splitlines()[:500]:
        words = line.partition("#")[0].split()
        if words[:1] == ["include"]:
            found += [(True, word) for word in words[1:]]
        elif words and words[0].startswith("/"):
            found.append((False, words[0].partition("=")[0].rstrip("/") or "/"))
    return tuple(found)


def configured(look: Look) -> tuple[tuple[str, str], ...]:
    """(folder, the file that names it) for every folder that `ldconfig` is told of, in its order."""
    start = (_CONF,) if look.system.exists(_CONF) else look.system.glob(f"{_CONF}.d/*.conf", _FOLDERS)
    waiting = [(True, path, "") for path in start]
    asked: set[str] = set()
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    while waiting and len(found) < _FOLDERS and len(seen) < _FOLDERS:
        is_file, path, named_by = waiting.pop(0)
        if not is_file:
            found.append((path, named_by))
        elif path not in seen:
            seen.add(path)
            waiting = [*_lines(look, path, asked), *waiting]
    return tuple(found)


def _lines(look: Look, path: str, asked: set[str]) -> Iterator[tuple[bool, str, str]]:
    """(a file?, its path or a folder's, the file that names it); a pattern asked for before leads to no file that is not known."""
    fact = look.text(path, 8192)
    for included, value in parse_conf(fact.value) if isinstance(fact, Found) else ():
        if included and value in asked:
            continue
        asked.update((value,) if included else ())
        names = look.system.glob(posixpath.join("/etc", value), _FOLDERS) if included else (value,)
        yield from ((included, name, path) for name in names)


def configured_folders(look: Look) -> tuple[str, ...]:
    """The folders of `/etc/ld.so.conf` and what it includes, in the order `ldconfig` reads them."""
    return tuple(folder for folder, _ in look.once(configured))


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


def copies(look: Look, name: str) -> Iterator[Fact[str]]:
    """Every place where the loader would look for a library, in its order; a found one's source names the list it stands in."""
    for entry in look.once(preloaded):
        if posixpath.basename(entry) == name and look.system.exists(entry):
            yield Found(entry, "LD_PRELOAD")
    yield from _in_folders(look, name, look.once(search_path), "LD_LIBRARY_PATH")
    listed = look.once(cache)
    if isinstance(listed, Found):
        paths = [path for path in cached_paths(listed.value, name, machine(look)) if look.system.exists(path)]
        yield from (Found(path, CACHE) for path in paths)
        yield Absent(f"{CACHE} lists no {name}")
        yield from _in_folders(look, name, built_in_folders(look), "the loader's folders")
        return
    yield listed
    yield from _in_folders(look, name, look.once(configured_folders), _CONF)
    yield from _in_folders(look, name, usual_folders(look), "the loader's folders")


def _in_folders(look: Look, name: str, folders: tuple[str, ...], place: str) -> Iterator[Fact[str]]:
    yield from (Found(path, path) for folder in folders if look.system.exists(path := posixpath.join(folder, name)))
    if folders:
        yield Absent(f"{place}: no {name}")


def cuda_folders(look: Look) -> tuple[str, ...]:
    """The folders in which CUDA is installed by NVIDIA's packages, links among them."""
    return (*look.system.glob("/usr/local/cuda*", _FOLDERS), *look.system.glob("/opt/cuda*", _FOLDERS))


def is_compat(path: str) -> bool:
    """Forward compatibility: NVIDIA puts it into `/usr/local/cuda-X.Y/compat`, Jetson's into `compat_orin`, conda into `cuda-compat`."""
    return re.search(r"/(?:cuda-)?compat(?:_\w+)?/", path) is not None


def is_stub(path: str) -> bool:
    """A toolkit's library for linking only: its functions all fail."""
    return "/stubs/" in path


def name_version(path: str) -> str | None:
    """The version at the end of a library's real name: `libcudnn.so.9.1.0` → `9.1.0`; None for a bare major."""
    found = re.search(r"\.so\.(\d{1,4}(?:\.\d{1,6}){1,3})$", path[-200:])
    return found[1] if found else None


def driver_name_version(path: str) -> str | None:
    """A driver release in a library's real name: `libcuda.so.575.57.08`; None for `libcuda.so.1.1`, which names none."""
    version = name_version(path)
    return version if version and len(version.partition(".")[0]) >= 3 else None
