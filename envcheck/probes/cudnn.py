"""cuDNN as the target environment loads it: the pip package that torch brings, else the system's headers or libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.libraries import find_library, loader_folders, multiarch, name_version
from envcheck.probes.look import Look, uname
from envcheck.probes.packages import Package, installed

FIELDS = ("cudnn.version", "cudnn.path")


class Copy(msgspec.Struct, frozen=True):
    """One copy: its version and what told it."""

    version: str
    path: str


def probe(look: Look) -> Facts:
    """All facts under `cudnn`."""
    fact = first_found(_copies(look))
    if not isinstance(fact, Found):
        return all_of(FIELDS, fact)
    return {"cudnn.version": Found(fact.value.version, fact.source), "cudnn.path": Found(fact.value.path, fact.source)}


def _copies(look: Look) -> Iterator[Fact[Copy]]:
    packages = look.once(installed)
    if isinstance(packages, Found):
        package = newest_pip(packages.value)
        if package:
            yield Found(Copy(package.version, package.path), package.path)
    for path in _headers(look):
        fact = look.text(path)
        version = parse_header(fact.value) if isinstance(fact, Found) else None
        if version:
            yield Found(Copy(version, path), path)
    yield from (_library(look, f"libcudnn.so.{major}") for major in ("9", "8"))
    yield Absent("no cuDNN found")


def newest_pip(packages: dict[str, Package]) -> Package | None:
    """The pip package of the highest CUDA major (`nvidia-cudnn-cu13` before `-cu12`)."""
    found = [(int(name[1]), packages[name[0]]) for name in map(re.compile(r"nvidia-cudnn-cu(\d+)").fullmatch, packages) if name]
    return max(found, key=lambda entry: entry[0])[1] if found else None


def _headers(look: Look) -> tuple[str, ...]:
    fact = look.once(uname)
    machine = multiarch(fact.value[2] if isinstance(fact, Found) else "x86_64")
    folders = ("/usr/include", f"/usr/include/{machine}", "/usr/local/cuda/include")
    return tuple(f"{folder}/cudnn_version.h" for folder in folders)


def parse_header(text: str) -> str | None:
    """`8.9.7` from the three macros of `cudnn_version.h`."""
    values = dict(re.findall(r"^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d{1,4})\b", text, re.MULTILINE))
    return f"{values['MAJOR']}.{values['MINOR']}.{values['PATCHLEVEL']}" if len(values) == 3 else None


def _library(look: Look, name: str) -> Fact[Copy]:
    path = find_library(look, name, look.once(loader_folders))
    real = look.system.resolve(path.value) if isinstance(path, Found) else path
    if not isinstance(real, Found):
        return real
    version = name_version(real.value)
    return Found(Copy(version, real.value), real.value) if version else Unreadable(f"{real.value} does not tell its version")
