"""The header of a GGUF file: what the model is, and each tensor's type and shape; the tensors are never read.

Layout and type numbers: the ggml project's description of the format (docs/gguf.md) and the block sizes of its quantized types.
"""

from __future__ import annotations

from struct import Struct, calcsize, error
from typing import Any

import msgspec

from envcheck.readers.tensors import Tensor

GGUF_LIMIT = 64 << 20  # bytes of header; a vocabulary of 260,000 tokens with its merges takes about 12 MiB
_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
MOST_TENSORS, _MOST_KEYS, _MOST_STRING, _MOST_DIMENSIONS = 1 << 18, 1 << 16, 1 << 20, 8
_MOST_BYTES = 1 << 50
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_KEPT_ITEMS = 4096  # of an array: values one a layer are kept, a vocabulary is not
_MOST_KEPT = 1 << 18  # items of all arrays: as objects they take ten times the room they take in the file
_MOST_STRINGS = 1 << 21  # of all arrays; the largest vocabularies with their merges have 800,000
_U32, _U64, _COUNTS = Struct("<I"), Struct("<Q"), Struct("<QQ")
# Type number: name, elements of a block, bytes of a block.
_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip


class Gguf(msgspec.Struct, frozen=True):
    """A header: its values by key, long arrays as their length alone, and its tensors."""

    values: dict[str, Any]
    tensors: list[Tensor]


class TooShortError(Exception):
    """The header goes on behind the bytes given."""


def parse_gguf(data: bytes) -> Gguf | None:
    """The header in a file's first bytes; None where it is none, or names a type not known.

    Raises TooShortError where more bytes are needed.
    """
    if data[:4] != _MAGIC[: len(data)]:
        return None
    cursor = _Cursor(data)
    try:
        cursor.at = len(_MAGIC)
        if cursor.u32() not in _VERSIONS:
            return None
        tensors, keys = cursor.take(_COUNTS)
        if tensors > MOST_TENSORS or keys > _MOST_KEYS:
            return None
        values = dict(cursor.entry() for _ in range(keys))
        return Gguf(values, [cursor.tensor() for _ in range(tensors)])
    except error:
        raise TooShortError from None
    except ValueError:
        return None


class _Cursor:
    """A position in the bytes; every read moves it. Raises struct.error past the end, ValueError on what the format has not."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.kept, self.strings = data, 0, 0, 0

    def take(self, layout: Struct) -> tuple[Any, ...]:
        found = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return found

    def u32(self) -> int:
        return int(self.take(_U32)[0])

    def u64(self) -> int:
        return int(self.take(_U64)[0])

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise error

    def string(self) -> str:
        length = self.u64()
        if length > _MOST_STRING:
            raise ValueError(length)
        start = self.at
        self.skip(length)
        return self.data[start : self.at].decode("utf-8", "replace")

    def skip_strings(self, count: int) -> None:
        """Moves behind so many strings; a vocabulary has hundreds of thousands, so nothing is called for each but what must be."""
        self.strings += count
        if self.strings > _MOST_STRINGS:
            raise ValueError(count)
        data, at, size, length = self.data, self.at, len(self.data), _U64.unpack_from
        for _ in range(count):
            at += 8 + length(data, at)[0]
            if at > size:
                raise error
        self.at = at

    def entry(self) -> tuple[str, Any]:
        key = self.string()
        return key, self.value(self.u32())

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self.array()
        if kind not in _SCALARS:
            raise ValueError(kind)
        return self.take(Struct("<" + _SCALARS[kind]))[0]

    def array(self) -> list[Any] | int:
        """Its items where they are few numbers, else their number."""
        kind, count = self.u32(), self.u64()
        if kind == _STRING:
            self.skip_strings(count)
            return count
        if kind not in _SCALARS:  # arrays of arrays are allowed and used by nobody
            raise ValueError(kind)
        if count <= min(_KEPT_ITEMS, _MOST_KEPT - self.kept):
            self.kept += count
            return list(self.take(Struct(f"<{count}{_SCALARS[kind]}")))
        self.skip(count * calcsize("<" + _SCALARS[kind]))
        return count

    def tensor(self) -> Tensor:
        name, dimensions = self.string(), self.u32()
        if dimensions > _MOST_DIMENSIONS:
            raise ValueError(dimensions)
        shape = self.take(Struct(f"<{dimensions}Q"))
        kind = self.u32()
        self.u64()  # where its data begins
        if kind not in _TYPES:
            raise ValueError(kind)
        dtype, block, block_bytes = _TYPES[kind]
        elements = 1
        for width in shape:
            elements *= width
        if elements % block or elements // block * block_bytes > _MOST_BYTES:
            raise ValueError(elements)
        return Tensor(name, dtype, tuple(reversed(shape)), elements // block * block_bytes)
