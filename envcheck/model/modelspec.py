"""A model as the memory arithmetic needs it, read from a Hugging Face `config.json` (or ModelScope's, which is the same)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SourceKind = Literal["folder", "catalogue", "hub", "request"]


class ModelSource(msgspec.Struct, frozen=True):
    """Where the configuration came from; `place` is a path, a URL or the catalogue's name for it."""

    kind: SourceKind
    place: str


class ModelSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """`name` as asked for; `config` the configuration as an object; `weights_bytes` the whole checkpoint's bytes where known."""

    name: str
    config: dict[str, Any]
    source: ModelSource
    weights_bytes: int | None = None
