"""Version strings as found in the wild, parsed leniently once; the raw spelling is kept for display and URLs.

`packaging.version.Version("550.144.03")` prints `550.144.3`, so a driver's own spelling must travel beside the parsed value.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

_LEADING = re.compile(r"\d+(?:\.\d+){0,5}")
_MAX_LENGTH = 200  # a version longer than this is not a version


class ComputeCapability(NamedTuple):
    """A GPU's compute capability, e.g. (8, 6)."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class DriverVersion(NamedTuple):
    """An NVIDIA driver version; compare on `parsed`, show `raw`."""

    parsed: tuple[int, ...]
    raw: str

    @property
    def branch(self) -> int:
        """The driver branch, e.g. 550."""
        return self.parsed[0]


@lru_cache(maxsize=4096)
def lenient_version(text: str) -> Version | None:
    """The version in `text`, tolerating remarks (`2.27.7 (cu13)`, `2.3.0a0 (NGC)`); None where there is none."""
    text = text.strip()[:_MAX_LENGTH]
    for candidate in (text, text.split(" ")[0] if text else ""):
        try:
            return Version(candidate)
        except InvalidVersion:
            continue
    found = _LEADING.search(text)
    try:
        return Version(found.group(0)) if found else None
    except (InvalidVersion, ValueError):
        return None


@lru_cache(maxsize=4096)
def driver_version(text: str) -> DriverVersion | None:
    """A driver version from `550.144.03`, `580+`, `591.xx` or `570`; None where no number leads."""
    found = _LEADING.match(text.strip()[:_MAX_LENGTH])
    if not found or len(found.group(0)) > 40:
        return None
    return DriverVersion(tuple(int(part) for part in found.group(0).split(".")), text.strip()[:40])


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[int, ...] | None:
    """The leading dotted numbers of `text`: `2.35` → (2, 35), `12.8.1` → (12, 8, 1); None where none lead."""
    found = _LEADING.search(text.strip()[:_MAX_LENGTH])
    return tuple(int(part) for part in found.group(0).split(".")) if found and len(found.group(0)) <= 40 else None


@lru_cache(maxsize=1024)
def compute_capability(text: str) -> ComputeCapability | None:
    """`8.6`, `sm_86`, `12.0a` or `compute_120` as a compute capability; None where it is none."""
    whole, dot, part = text.partition(".")
    if dot and text.isascii() and whole.isdecimal() and len(whole) <= 2 and part.isdecimal() and len(part) == 1:
        return ComputeCapability(int(whole), int(part))  # as the driver and the matrix spell it: no pattern is compiled for those
    found = re.fullmatch(r"\s*(?:(\d{1,2})\.(\d)|(?:sm|compute)_(\d{1,2})(\d))[a-z]?\s*", text[:20])
    if not found:
        return None
    major, minor = (found[1], found[2]) if found[1] else (found[3], found[4])
    return ComputeCapability(int(major), int(minor))


def local_cuda(version: Version | None) -> tuple[int, ...] | None:
    """The CUDA release in a local version label, also behind a commit: `2.9.1+cu128` → (12, 8); None without one."""
    found = re.fullmatch(r"cu(\d{2})(\d)", (version.local or "").rpartition(".")[2]) if version else None
    return (int(found[1]), int(found[2])) if found else None
