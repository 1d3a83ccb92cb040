"""A sentence not yet in a language: a key of the message catalogue and its parameters."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Param = str | int | float | tuple[str, ...] | None


class Text(msgspec.Struct, frozen=True):
    """Rendered by `render.catalogue` in English or Chinese; rules and plans never hold finished prose."""

    key: str
    params: Mapping[str, Param] = {}
