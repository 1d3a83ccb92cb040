"""Lines of a stream that may never end, pause, or hold one line larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

LINE_LIMIT = 16 << 20  # bytes of a line of a batch
_CHUNK = 1 << 17  # bytes; the answers to one chunk are held together


def groups(read: Callable[[int], bytes], limit: int) -> Iterator[list[bytes | None]]:
    """The lines that arrived together, without their line breaks; None for one of more than `limit` bytes, which is dropped as it comes.

    `read` gives at least one byte and at most as many as asked, none at the end: a stream's `read1`.
    """
    held: list[bytes] = []
    size = 0
    while chunk := read(_CHUNK):
        group: list[bytes | None] = []
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            held.append(part)
            group.append(b"".join(held) if size + len(part) <= limit else None)
            held.clear()
            size = 0
        size += len(rest)
        held.append(rest)
        if size > limit:
            held.clear()
        if group:
            yield group
    if size:
        yield [b"".join(held) if size <= limit else None]
