"""How much the weights of a checkpoint weigh, from its index or from the headers of its files; the tensors are never read.

A file begins with the length of its header in eight bytes, little endian; the header is a JSON object that gives each tensor its type, its
shape and where it begins and ends in the data behind it (the safetensors project's description of the format).
"""

from __future__ import annotations

import msgspec

from envcheck.readers.tensors import Tensor

LENGTH_BYTES = 8
HEADER_LIMIT = 16 << 20  # bytes; headers of large files with many experts take a few MiB
INDEX_LIMIT = 32 << 20  # bytes; the index names every tensor
_MOST = 1 << 50  # bytes no checkpoint reaches
_MOST_DIMENSIONS = 16
_MOST_TENSORS = 1 << 18  # of one file, which a header of the allowed length reaches only with entries that say nothing
_MOST_NAME = 1024


class _Listed(msgspec.Struct):
    """A tensor in a header, or `__metadata__`, which has none of these."""

    dtype: str = ""
    shape: list[int] = []
    data_offsets: tuple[int, int] | None = None


class _Metadata(msgspec.Struct):
    total_size: float | int | None = None


class _Index(msgspec.Struct):
    metadata: _Metadata | None = None
    weight_map: dict[str, str] = {}


def index_bytes(data: bytes) -> int | None:
    """`metadata.total_size` of a `model.safetensors.index.json`; None where it says none."""
    index = _index(data)
    total = index.metadata.total_size if index and index.metadata else None
    return int(total) if total is not None and 0 < total < _MOST else None


def index_files(data: bytes) -> tuple[str, ...]:
    """The files that an index names, sorted; none where it is no index or names anything but files beside it."""
    index = _index(data)
    names = sorted(set(index.weight_map.values())) if index else []
    return tuple(names) if all(map(_is_file_name, names)) else ()


def header_length(data: bytes) -> int | None:
    """Length of the header that follows the first eight bytes; None where they are no such length."""
    if len(data) < LENGTH_BYTES:
        return None
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    return length if 2 <= length <= HEADER_LIMIT else None


def file_tensors(data: bytes) -> list[Tensor] | None:
    """The tensors that the header of one file lists; `data` = the file's first bytes.

    None where it is no such file, or its tensors overlap or leave holes, which the format forbids.
    """
    length = header_length(data)
    if length is None or len(data) < LENGTH_BYTES + length or data.count(b"{", 0, LENGTH_BYTES + length) > _MOST_TENSORS:
        return None
    try:
        header = msgspec.json.decode(data[LENGTH_BYTES : LENGTH_BYTES + length], type=dict[str, _Listed])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    header.pop("__metadata__", None)
    return _in_order(header)


def tensors_bytes(data: bytes) -> int | None:
    """Bytes of all tensors that the header of one file lists; `data` = the file's first bytes. None where it is no such file."""
    return sum(tensor.size_bytes for tensor in file_tensors(data) or ()) or None


def _in_order(header: dict[str, _Listed]) -> list[Tensor] | None:
    found: list[Tensor] = []
    reached = 0
    for name, listed in sorted(header.items(), key=lambda item: item[1].data_offsets or (-1, -1)):
        begin, end = listed.data_offsets or (-1, -1)
        if begin != reached or not begin <= end < _MOST or len(listed.shape) > _MOST_DIMENSIONS or len(name) > _MOST_NAME:
            return None
        found.append(Tensor(name, listed.dtype[:32], tuple(listed.shape), end - begin))
        reached = end
    return found


def _index(data: bytes) -> _Index | None:
    try:
        return msgspec.json.decode(data, type=_Index)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _is_file_name(name: str) -> bool:
    """Whether a name can only mean a file beside the index."""
    return 0 < len(name) <= 255 and name.isprintable() and "/" not in name and "\\" not in name and not name.startswith(".")
