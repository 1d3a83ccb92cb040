"""A host document with facts changed by dotted path, as a way would leave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from envcheck.model.host import HostReport

_WHOLE = ("packages", "environment", "network", "observed")  # maps whose names may hold dots


def patched(host: HostReport, changes: Mapping[str, Any]) -> HostReport:
    """The document with each path set to its value, None = known to be absent. Raises msgspec.ValidationError for what does not fit."""
    document: dict[str, Any] = msgspec.to_builtins(host)
    document.pop("provenance", None)
    for path, value in changes.items():
        _put(document, path, value)
    return msgspec.convert(document, HostReport, strict=False)


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    head, _, rest = path.partition(".")
    if not rest:
        document[head] = value
        return
    place = document.get(head)
    if not isinstance(place, dict):
        place = document[head] = {}
    keys = [rest] if head in _WHOLE else rest.split(".")
    for key in keys[:-1]:
        inner = place.get(key)
        inner = inner if isinstance(inner, dict) else {}
        place[key] = inner
        place = inner
    if value is None and head in _WHOLE:
        place.pop(keys[-1], None)
    else:
        place[keys[-1]] = value
