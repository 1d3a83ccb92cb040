"""`/etc/ld.so.cache`, the loader's own list of libraries, read as a file instead of asking `ldconfig` (glibc, dl-cache.h)."""

from __future__ import annotations

import struct

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.probes.facts import named
from envcheck.probes.look import Look

CACHE = "/etc/ld.so.cache"
_LIMIT = 2 << 20  # bytes; a desktop with everything has a quarter of a MiB
_OLD_MAGIC = b"ld.so-1.7.0"  # the list of glibc before 2.32 puts one of libc5's form in front of its own
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _OLD_HEADER, _OLD_ENTRY = 48, 16, 12
_ENTRY = struct.Struct("<iIIIQ")  # flags, offset of the name, offset of the path, kernel release, hardware capabilities
_KINDS = {"x86_64": 0x0303, "aarch64": 0x0A03, "ppc64le": 0x0503}  # 64-bit libraries of the GNU C library
_MOST_NAMES = 64  # places of one name in the strings: as itself and as the end of paths


def cache(look: Look) -> Fact[bytes]:
    """The whole cache; Absent where the C library keeps none (musl), Unreadable where it is larger than any real one."""
    fact = look.system.read(CACHE, _LIMIT)
    if not isinstance(fact, Found):
        return named(fact, CACHE)
    if len(fact.value) >= _LIMIT:
        return Unreadable(f"{CACHE}: larger than {_LIMIT >> 20} MiB")
    return fact if _start(fact.value) is not None else Unreadable(f"{CACHE}: in no form of the GNU C library")


def cached_paths(data: bytes, name: str, machine: str) -> list[str]:
    """The paths listed for a library's name on this machine type, in the loader's order; none in bytes that are no cache."""
    start = _start(data)
    if start is None:
        return []
    count = struct.unpack_from("<I", data, start + len(_MAGIC))[0]
    entries = memoryview(data)[start + _HEADER : start + _HEADER + count * _ENTRY.size]
    names, kind = _places(data, start, name), _KINDS.get(machine)
    found = [
        (capabilities != 0, place)
        for flags, key, place, _, capabilities in _ENTRY.iter_unpack(entries)
        if key in names and (flags == kind if kind else flags & 0xFF == 3)
    ]
    # Copies for newer processors come last: which of them this one may use, the list does not say.
    paths = (_text(data, start + place) for _, place in sorted(found, key=lambda entry: entry[0]))
    return [path for path in paths if path.startswith("/")]


def _start(data: bytes) -> int | None:
    """Where the list begins, if all its entries are there."""
    start = 0
    if data.startswith(_OLD_MAGIC) and len(data) >= _OLD_HEADER:
        start = -(-(_OLD_HEADER + struct.unpack_from("<I", data, 12)[0] * _OLD_ENTRY) // 8) * 8
    if not data.startswith(_MAGIC, start) or len(data) < start + _HEADER:
        return None
    count = struct.unpack_from("<I", data, start + len(_MAGIC))[0]
    return start if len(data) >= start + _HEADER + count * _ENTRY.size else None


def _places(data: bytes, start: int, name: str) -> frozenset[int]:
    """Offsets at which the name stands, also as the end of a path, for equal endings are stored once."""
    wanted = name.encode() + b"\0"
    found: list[int] = []
    at = data.find(wanted, start)
    while at >= 0 and len(found) < _MOST_NAMES:
        found.append(at - start)
        at = data.find(wanted, at + 1)
    return frozenset(found)


def _text(data: bytes, at: int) -> str:
    end = data.find(b"\0", at, at + 4096)
    return data[at:end].decode("utf-8", "replace") if 0 <= at <= end else ""
