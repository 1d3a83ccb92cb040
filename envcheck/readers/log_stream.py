"""A log's bytes in chunks of whole lines: plain or gzip, of any length, in bounded memory."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from envcheck.errors import UsageError

LOG_LIMIT = 2 << 30  # bytes of a log that are looked at, unpacked; what follows a start-up is requests
LINE_LIMIT = 64 << 10  # bytes of a line that are kept; the engine's configuration is the longest at about 6 KiB
_CHUNK = 256 << 10
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # how PowerShell writes what it is given


def log_chunks(read: Callable[[int], bytes], limit: int = LOG_LIMIT) -> Iterator[bytes]:
    """Chunks that end with a line feed but for the last; at most `limit` bytes. A broken gzip stream ends where it breaks.

    `read` gives at most as many bytes as asked, none at the end.
    """
    rest = b""
    for piece in _plain(read):
        taken = piece[:limit]
        limit -= len(taken)
        head, feed, tail = taken.rpartition(b"\n")
        if feed:
            yield rest + head + feed
            rest = b""
        rest += tail
        if len(rest) > LINE_LIMIT:
            # Of a line without an end its beginning is looked at; the line feed keeps the count of lines right enough.
            yield rest[:LINE_LIMIT]
            rest = b""
        if not limit:
            break
    if rest:
        yield rest


def _plain(read: Callable[[int], bytes]) -> Iterator[bytes]:
    first = read(_CHUNK)
    if first.startswith(_WIDE):
        yield from _narrowed(first, read)
        return
    if first.startswith(_ZSTD):
        yield from _unpacked_zstd(first, read)
        return
    if not first.startswith(_GZIP):
        while first:
            yield first
            first = read(_CHUNK)
        return
    try:
        yield from _unpacked(first, read)
    except zlib.error:
        return


def _unpacked_zstd(first: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """A zstd stream, a bounded piece at a time. Raises UsageError where nothing here unpacks it; a broken one ends where it breaks."""
    source: Any = _Held(first, read)
    try:
        from zstandard import ZstdDecompressor, ZstdError  # noqa: PLC0415  # an extra, and few logs are packed so
    except ImportError:
        raise UsageError("error.log-zstd") from None
    unpacked = ZstdDecompressor(max_window_size=128 << 20).stream_reader(source, read_across_frames=True)
    try:
        while piece := unpacked.read(_CHUNK):
            yield piece
    except ZstdError:
        return


class _Held:
    """A file of what was read already and of what follows."""

    def __init__(self, first: bytes, read: Callable[[int], bytes]) -> None:
        self._first, self._read = first, read

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, none at the end."""
        first, self._first = self._first[:size], self._first[size:]
        return first or self._read(size)


def _narrowed(data: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """UTF-16 as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while data:
        yield decoder.decode(data).encode("utf-8", "replace")
        data = read(_CHUNK)


def _unpacked(data: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Every member of a gzip stream, a bounded piece at a time."""
    unpack = zlib.decompressobj(31)
    while data:
        piece = unpack.decompress(data, _CHUNK)
        if piece:
            yield piece
        if unpack.eof:
            data = unpack.unused_data or read(_CHUNK)
            unpack = zlib.decompressobj(31)
        else:
            data = unpack.unconsumed_tail or read(_CHUNK)
