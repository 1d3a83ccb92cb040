"""The one spelling of a matrix file: two spaces, keys in the order of the Struct, defaults left out, UTF-8, one final line feed."""

from __future__ import annotations

from typing import Any

import msgspec


def canonical(value: Any) -> bytes:
    """The bytes that `value` (a record, a list of records, a file's Struct) has on disk."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"
