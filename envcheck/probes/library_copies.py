"""Copies of a CUDA library that torch needs, and which of them gets loaded.

torch's wheels name the folders of the pip packages in their own search path. Whether `LD_LIBRARY_PATH` comes before it depends on the
build: RUNPATH in old ones, RPATH since the libraries are packages of their own (ld.so(8)); the file itself tells.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import UNSET

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host_parts import LibraryCopy
from envcheck.probes import libraries
from envcheck.probes.interpreter import target
from envcheck.probes.look import Look
from envcheck.probes.packages import Package, installed
from envcheck.probes.site_packages import literal
from envcheck.probes.torch import build, cuda_major, torch_folder

_MOST = 16
_ELF_LIMIT = 1 << 20  # bytes; the library asked is a stub of some 20 KiB


class Wanted(msgspec.Struct, frozen=True):
    """A library: its names newest first, its pip packages without the CUDA major, their folder, and its header."""

    sonames: tuple[str, ...]
    pip: str
    folder: str
    header: str
    parse: Callable[[str], str | None]
    system_headers: tuple[str, ...]


class Copy(msgspec.Struct, frozen=True):
    """One copy; `source` = what told of it, `soname` = the name it answers to."""

    path: str
    version: str | None
    origin: str
    soname: str
    source: str


class Survey(msgspec.Struct, frozen=True):
    """All copies, the one that gets loaded, and why none can be named."""

    copies: tuple[Copy, ...]
    winner: Copy | None
    why: str


def survey(look: Look, wanted: Wanted, named: tuple[Copy, ...] = ()) -> Survey:
    """Every copy; `named` are those that a variable puts before all others."""
    own = tuple(_own(look, wanted))
    other = tuple(copy for copy in _loaded(look, wanted) if not any(_same(look, copy.path, mine.path) for mine in (*named, *own)))
    found = (*named, *own, *other)[:_MOST] or tuple(_by_header(look, wanted))
    winner, why = _winner(look, named, own, other)
    return Survey(found, winner or (found[0] if len(found) == 1 else None), why)


def facts_of(part: str, seen: Survey, wanted: Wanted) -> dict[str, Fact[object]]:
    """`version`, `path` and `copies` under a part of the document."""
    name = wanted.sonames[0].partition(".")[0]
    if not seen.copies:
        return dict.fromkeys((f"{part}.version", f"{part}.path", f"{part}.copies"), Absent(f"no {name} found"))
    listed = [
        LibraryCopy(copy.path, copy.version or UNSET, copy.origin, copy is seen.winner if seen.winner else UNSET) for copy in seen.copies
    ]
    won = seen.winner
    version: Fact[object] = Unreadable(seen.why)
    if won:
        version = Found(won.version, won.source) if won.version else Unreadable(f"{won.path} does not tell its version")
    path: Fact[object] = Found(won.path, won.source) if won else Unreadable(seen.why)
    return {
        f"{part}.version": version,
        f"{part}.path": path,
        f"{part}.copies": Found(listed, ", ".join(copy.source for copy in seen.copies)[:300]),
    }


def _winner(look: Look, named: tuple[Copy, ...], own: tuple[Copy, ...], other: tuple[Copy, ...]) -> tuple[Copy | None, str]:
    before = (*named, *(copy for copy in other if copy.source == "LD_PRELOAD"))
    if before or not own:
        return next(iter((*before, *other)), None), "no library, only its header"
    rivals = [copy for copy in other if copy.origin == "LD_LIBRARY_PATH" and copy.soname == own[0].soname]
    if not rivals:
        return own[0], ""
    first = look.once(_searches_first)
    if not isinstance(first, Found):
        return None, f"torch's own copy or that of LD_LIBRARY_PATH: {first.why}"
    return (own[0] if first.value == "rpath" else rivals[0]), ""


def _searches_first(look: Look) -> Fact[str]:
    """`rpath` where torch's libraries search their own folders before `LD_LIBRARY_PATH`, `runpath` where after."""
    folder = look.once(torch_folder)
    if not isinstance(folder, Found):
        return Unreadable("no torch that could tell")
    path = f"{folder.value}/lib/libtorch_global_deps.so"
    file = look.system.read(path, _ELF_LIMIT)
    from envcheck.probes.elf import search_tag  # noqa: PLC0415  # few hosts have a copy

    tag = search_tag(file.value) if isinstance(file, Found) else None
    return Found(tag, path) if tag else Unreadable(f"{path} does not tell its search path")


def _own(look: Look, wanted: Wanted) -> Iterator[Copy]:
    """What torch's own search path leads to: pip packages, its own folder, conda's libraries."""
    pip = _of_pip(look, wanted)
    yield from pip
    if not pip:
        yield from _vendored(look, wanted)
    interpreter = look.once(target)
    base = interpreter.value.base if isinstance(interpreter, Found) else "/usr"
    if base in ("/usr", "/usr/local"):
        return
    for soname in wanted.sonames:
        path = f"{base}/lib/{soname}"
        if look.system.exists(path):
            yield Copy(path, _version(look, path, wanted), "conda", soname, path)


def _of_pip(look: Look, wanted: Wanted) -> list[Copy]:
    packages = look.once(installed)
    names = (
        {name: package for name, package in packages.value.items() if name.startswith(wanted.pip)} if isinstance(packages, Found) else {}
    )
    majors = {int(name[len(wanted.pip) :]): package for name, package in names.items() if re.fullmatch(r"\d{2}", name[len(wanted.pip) :])}
    build_major = cuda_major(look)
    found: dict[str, Copy] = {}
    # torch's own CUDA major first, then the newest: without torch nothing else tells.
    for major, package in sorted(majors.items(), key=lambda entry: (entry[0] == build_major, entry[0]), reverse=True):
        copy = _pip_copy(look, wanted, package, major)
        found.setdefault(copy.path, copy)
    if len(majors) > 1 and len(found) == 1:  # both majors install the same files: the last one installed is there
        (copy,) = found.values()
        beside = look.text(posixpath.normpath(posixpath.join(posixpath.dirname(copy.path), "../include", wanted.header)), 16384)
        version = wanted.parse(beside.value) if isinstance(beside, Found) else None
        return [msgspec.structs.replace(copy, version=version, source=beside.source)] if isinstance(beside, Found) and version else [copy]
    return list(found.values())


def _pip_copy(look: Look, wanted: Wanted, package: Package, major: int) -> Copy:
    soname = next((name for name in wanted.sonames if name.endswith(f".{package.version.split('.')[0]}")), wanted.sonames[0])
    places = (f"{package.site}/nvidia/{part}/lib/{soname}" for part in (wanted.folder, f"cu{major}"))
    path = next((place for place in places if look.system.exists(place)), package.path)
    return Copy(path, package.version, "pip", soname, package.path)


def _vendored(look: Look, wanted: Wanted) -> Iterator[Copy]:
    """A copy in torch's own folder, which wheels of a CUDA that the package index does not carry have."""
    told = look.once(build)
    folder = look.once(torch_folder)
    if not isinstance(folder, Found) or not isinstance(told, Found) or not told.value.cuda:
        return
    stem = wanted.sonames[0].partition(".")[0]
    for path in look.once(_torch_libraries):
        name = posixpath.basename(path)
        if re.match(rf"{stem}(-[0-9a-f]+)?\.so\b", name):
            soname = next(
                (soname for soname in wanted.sonames if name.partition(".so")[2].startswith(soname.partition(".so")[2])), wanted.sonames[0]
            )
            yield Copy(path, libraries.name_version(path), "vendored", soname, path)


def _torch_libraries(look: Look) -> tuple[str, ...]:
    folder = look.once(torch_folder)
    return look.system.glob(f"{literal(folder.value)}/lib/lib*.so*", 256) if isinstance(folder, Found) else ()


def _loaded(look: Look, wanted: Wanted) -> Iterator[Copy]:
    """What the loader finds by name, in its order."""
    by_variable = look.once(libraries.search_path)
    for soname in wanted.sonames:
        for fact in libraries.copies(look, soname):
            if isinstance(fact, Found):
                listed = posixpath.dirname(fact.value) in by_variable and fact.source != "LD_PRELOAD"
                origin = "LD_LIBRARY_PATH" if listed else "system"
                yield Copy(fact.value, _version(look, fact.value, wanted), origin, soname, fact.source)


def _version(look: Look, path: str, wanted: Wanted) -> str | None:
    """By the real file's name, else by the header beside the library's folder, else by the system's."""
    real = look.system.resolve(path)
    told = libraries.name_version(real.value) if isinstance(real, Found) else None
    if told:
        return told
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), "../include", wanted.header))
    for header in (beside, *(wanted.system_headers if path.startswith(("/usr/lib", "/lib")) else ())):
        fact = look.text(header, 16384)
        version = wanted.parse(fact.value) if isinstance(fact, Found) else None
        if version and path.endswith(f".{version.split('.')[0]}"):
            return version
    return None


def _by_header(look: Look, wanted: Wanted) -> Iterator[Copy]:
    """A header alone: the library may lie where only its builder knows."""
    for path in wanted.system_headers:
        fact = look.text(path, 16384)
        version = wanted.parse(fact.value) if isinstance(fact, Found) else None
        if version:
            yield Copy(path, version, "system", wanted.sonames[0], path)
            return


def _same(look: Look, one: str, other: str) -> bool:
    if posixpath.basename(one).partition(".so")[0] != posixpath.basename(other).partition(".so")[0]:
        return False
    first, second = look.system.resolve(one), look.system.resolve(other)
    return isinstance(first, Found) and isinstance(second, Found) and first.value == second.value
