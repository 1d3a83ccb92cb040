"""A model as the memory arithmetic needs it, read from a Hugging Face `config.json` (or ModelScope's, which is the same)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SourceKind = Literal["folder", "catalogue", "hub", "request"]


class ModelSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the configuration came from; `place` is a path, a URL or the catalogue's name for it.

    `basis` = what the catalogue's word rests on (`unverified` = nobody read the published file); `cached_s` = seconds since it was
    fetched, where a copy kept from earlier answers instead of the hub.
    """

    kind: SourceKind
    place: str
    basis: str | None = None
    cached_s: int | None = None


class TensorGroup(msgspec.Struct, frozen=True):
    """`count` tensors of the same type and shape whose names differ in their numbers, each `*` here; `size_bytes` of one of them.

    Of a GGUF file, `dtype` is the GGML type's name, and `shape` has the slowest dimension first, as elsewhere.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    count: int
    size_bytes: int


class StoredWeights(msgspec.Struct, frozen=True):
    """What the headers of a checkpoint's files list, exact to the byte; `groups` is empty where there were too many to keep."""

    tensors: int
    files: int
    bytes_by_dtype: dict[str, int]
    groups: tuple[TensorGroup, ...] = ()

    @property
    def total_bytes(self) -> int:
        """All tensors."""
        return sum(self.bytes_by_dtype.values())


class Adapter(msgspec.Struct, frozen=True, omit_defaults=True):
    """A LoRA adapter: `rank`, the largest of its patterns' where they differ; `targets` the modules, a pattern as one text."""

    name: str
    place: str
    rank: int
    targets: tuple[str, ...] = ()
    base: str | None = None
    size_bytes: int | None = None
    extra_modules: tuple[str, ...] = ()


class ModelSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """`name` as asked for; `config` the configuration as an object; `weights_bytes` the whole checkpoint's bytes where known.

    `weights_basis` = what told the bytes: the files' `headers`, the `index`, or the `catalogue`. `stored` = the tensors where headers were
    read. `draft` and `adapters` = what the serve arguments name beside the model; `unread` = those of them that could not be read.
    """

    name: str
    config: dict[str, Any]
    source: ModelSource
    weights_bytes: int | None = None
    weights_basis: str | None = None
    stored: StoredWeights | None = None
    draft: ModelSpec | None = None
    adapters: tuple[Adapter, ...] = ()
    unread: tuple[str, ...] = ()
