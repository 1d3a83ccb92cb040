"""One question to a shared library's own bytes: whether it searches its folders before or after `LD_LIBRARY_PATH`.

Layout: System V ABI, ELF-64, little-endian; program header type 2 = dynamic, its tags 15 = RPATH (searched before the variable) and
29 = RUNPATH (after it, and RPATH is then ignored): ld.so(8).
"""

from __future__ import annotations

import struct
from typing import Literal

_RPATH, _RUNPATH, _DYNAMIC = 15, 29, 2
_HEADERS, _TAGS = 64, 1024  # of a hostile file


def search_tag(data: bytes) -> Literal["rpath", "runpath"] | None:
    """The kind of search path a library has; None where it has none or the bytes do not tell."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        return None
    start = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    for place in range(start, start + size * min(count, _HEADERS), size or 1):
        if place + 40 <= len(data) and struct.unpack_from("<I", data, place)[0] == _DYNAMIC:
            tags = _tags(data, struct.unpack_from("<Q", data, place + 8)[0])
            return "runpath" if _RUNPATH in tags else "rpath" if _RPATH in tags else None
    return None


def _tags(data: bytes, start: int) -> set[int]:
    found: set[int] = set()
    for place in range(start, min(start + 16 * _TAGS, len(data) - 15), 16):
        tag = struct.unpack_from("<Q", data, place)[0]
        if tag == 0:
            break
        found.add(tag)
    return found
