"""Folders named by hand to the dynamic loader that hold CUDA libraries: those of `LD_LIBRARY_PATH` come before the wheels' own."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from envcheck.model.fact import Found, Unreadable
from envcheck.model.host_parts import LoaderFolder
from envcheck.probes.facts import Facts
from envcheck.probes.libraries import configured, preloaded, search_entries, usual_folders
from envcheck.probes.look import Look

FIELDS = ("loader_folders",)
_LIBRARIES = frozenset(
    (
        *("libcuda", "libcudart", "libcublas", "libcublasLt", "libcudnn", "libcufft", "libcusolver", "libcusparse", "libcusparseLt"),
        *("libnccl", "libnvidia-ml", "libnvJitLink", "libnvrtc"),
    )
)
_PATTERN = "lib[cn]*.so*"  # all of the above, and few others
_ENTRIES, _MOST_LIBRARIES, _MOST_FOLDERS = 4096, 40, 64


def probe(look: Look) -> Facts:
    """The list under `loader_folders`, in the loader's order; a relative entry has no libraries, for which folder it means is not known."""
    found = [*_preloaded(look), *_searched(look), *_configured(look)]
    facts: Facts = {"loader_folders": Found(found[:_MOST_FOLDERS], "LD_PRELOAD, LD_LIBRARY_PATH, /etc/ld.so.conf")}
    conf = look.text("/etc/ld.so.conf", 1) if not look.once(configured) else None
    if isinstance(conf, Unreadable):
        facts["loader_folders./etc/ld.so.conf"] = conf
    return facts


def chosen(names: Iterable[str]) -> list[str]:
    """The CUDA libraries among file names: of each library's major release the name that tells most (`libcudnn.so.9.1.0`)."""
    best: dict[str, str] = {}
    for name in names:
        stem, dot, version = name.partition(".so")
        if dot and stem in _LIBRARIES and re.fullmatch(r"(\.\d{1,8}){0,4}", version):
            key = f"{stem}.{version.lstrip('.').partition('.')[0]}"
            best[key] = max(best.get(key, ""), name, key=len)
    bare = {name for key, name in best.items() if key.endswith(".") and any(other != key and other.startswith(key) for other in best)}
    return sorted(set(best.values()) - bare)[:_MOST_LIBRARIES]


def _libraries(look: Look, folder: str) -> list[str]:
    return chosen(posixpath.basename(path) for path in look.system.glob(f"{_literal(folder)}/{_PATTERN}", _ENTRIES))


def _literal(folder: str) -> str:
    """The folder as a pattern that matches itself alone."""
    return re.sub(r"([*?[])", r"[\1]", folder)


def _preloaded(look: Look) -> Iterator[LoaderFolder]:
    for entry in look.once(preloaded):
        libraries = chosen([posixpath.basename(entry)])
        if libraries:
            yield LoaderFolder(posixpath.dirname(entry), "LD_PRELOAD", libraries)


def _searched(look: Look) -> Iterator[LoaderFolder]:
    for entry in dict.fromkeys(look.once(search_entries)):
        folder = entry.rstrip("/") or "/"
        if not entry.startswith("/"):
            yield LoaderFolder(entry or ".", "LD_LIBRARY_PATH")
        elif libraries := _libraries(look, folder):
            yield LoaderFolder(folder, "LD_LIBRARY_PATH", libraries)


def _configured(look: Look) -> Iterator[LoaderFolder]:
    """The loader's own folders, which `ld.so.conf` may name again, are left out: nobody chose them, and listing them is slow."""
    for folder, file in look.once(configured):
        if folder not in usual_folders(look) and (libraries := _libraries(look, folder)):
            yield LoaderFolder(folder, file, libraries)
