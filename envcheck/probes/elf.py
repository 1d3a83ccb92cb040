"""One question to a shared library's own bytes: whether it searches its folders before or after `LD_LIBRARY_PATH`.

Layout: System V ABI, ELF-64, little-endian; program header type 2 = dynamic, its tags 15 = RPATH (searched before the variable) and
29 = RUNPATH (after it, and RPATH is then ignored): ld.so(8).
"""

from __future__ import annotations

from typing import Literal

_RPATH, _RUNPATH, _DYNAMIC = 15, 29, 2
_HEADERS, _TAGS = 64, 1024  # of a hostile file


def search_tag(data: bytes) -> Literal["rpath", "runpath"] | None:
    """The kind of search path a library has; None where it has none or the bytes do not tell."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        return None
    start, size, count = _number(data, 32, 8), _number(data, 54, 2), _number(data, 56, 2)
    for place in range(start, start + size * min(count, _HEADERS), size or 1):
        if _number(data, place, 4) == _DYNAMIC:
            tags = _tags(data, _number(data, place + 8, 8))
            return "runpath" if _RUNPATH in tags else "rpath" if _RPATH in tags else None
    return None


def _number(data: bytes, place: int, length: int) -> int:
    """Past the end of the bytes everything is 0."""
    return int.from_bytes(data[place : place + length], "little")


def _tags(data: bytes, start: int) -> set[int]:
    found: set[int] = set()
    for place in range(start, start + 16 * _TAGS, 16):
        tag = _number(data, place, 8)
        if tag == 0:
            break
        found.add(tag)
    return found
