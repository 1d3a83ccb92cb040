"""How much the weights of a checkpoint weigh, from its index or from the headers of its files; the tensors are never read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_LENGTH_BYTES = 8  # a safetensors file begins with the length of its header, little endian
HEADER_LIMIT = 16 << 20  # bytes; headers of large files with many experts take a few MiB
INDEX_LIMIT = 32 << 20  # bytes; the index names every tensor
_MOST = 1 << 50  # bytes no checkpoint reaches


def index_bytes(data: bytes) -> int | None:
    """`metadata.total_size` of a `model.safetensors.index.json`; None where it says none."""
    try:
        index = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    metadata = index.get("metadata") if isinstance(index, dict) else None
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, bool) or not isinstance(total, (int, float)) or not 0 < total < _MOST:
        return None
    return int(total)


def header_length(data: bytes) -> int | None:
    """Length of the header that follows the first eight bytes; None where they are no such length."""
    if len(data) < _LENGTH_BYTES:
        return None
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    return length if 2 <= length <= HEADER_LIMIT else None


def tensors_bytes(data: bytes) -> int | None:
    """Bytes of all tensors that the header of one file lists; `data` = the file's first bytes. None where it is no such file."""
    length = header_length(data)
    if length is None or len(data) < _LENGTH_BYTES + length:
        return None
    try:
        header = msgspec.json.decode(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if not isinstance(header, dict):
        return None
    ends = [_end(tensor) for name, tensor in header.items() if name != "__metadata__" and isinstance(tensor, Mapping)]
    return max(ends, default=0) or None


def _end(tensor: Mapping[str, Any]) -> int:
    """Where a tensor ends in the data that follows the header: the last one's end is the size of all."""
    offsets = tensor.get("data_offsets")
    end = offsets[1] if isinstance(offsets, list) and len(offsets) == 2 else 0
    return end if isinstance(end, int) and not isinstance(end, bool) and 0 <= end < _MOST else 0
