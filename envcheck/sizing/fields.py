"""Reading fields of untrusted mappings: a wrong type, a sign or an absurd size counts as not said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_MOST = 1 << 40
_LITERAL_LIMIT = 4096  # characters; an option's inline object is shorter


def number(source: Mapping[str, Any], *names: str, least: float = 0.0, most: float = float(_MOST)) -> float | None:
    """The first of `names` that holds a finite number within bounds; digits in a string count."""
    for name in names:
        value = as_number(source.get(name))
        if value is not None and least <= value <= most:
            return value
    return None


def integer(source: Mapping[str, Any], *names: str, least: int = 1, most: int = _MOST) -> int | None:
    """The first of `names` that holds a whole number within bounds."""
    for name in names:
        value = as_number(source.get(name))
        if value is not None and value == int(value) and least <= value <= most:
            return int(value)
    return None


def as_number(value: object) -> float | None:
    """A finite number, or None; booleans are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, int) and abs(value) > _MOST:
        return None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def flag(source: Mapping[str, Any], name: str) -> bool | None:
    """A boolean, also written as `true`, `False`, `1`, `0`; None where not said."""
    value = source.get(name)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    spelt = value.strip().lower() if isinstance(value, str) else ""
    return True if spelt in ("true", "1", "yes") else False if spelt in ("false", "0", "no") else None


def word(source: Mapping[str, Any], *names: str) -> str | None:
    """The first of `names` that holds a short non-empty string."""
    for name in names:
        value = source.get(name)
        if isinstance(value, str) and 0 < len(value.strip()) <= 200:
            return value.strip()
    return None


def mapping(source: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The first of `names` that holds an object, also written as JSON or as a Python literal; empty where none does."""
    for name in names:
        value = source.get(name)
        found = literal(value) if isinstance(value, str) else value
        if isinstance(found, Mapping):
            return found
    return {}


def items(source: Mapping[str, Any], *names: str) -> list[Any]:
    """The first of `names` that holds a list of bounded length; empty where none does."""
    for name in names:
        value = source.get(name)
        if isinstance(value, (list, tuple)) and len(value) <= 100_000:
            return list(value)
    return []


def literal(text: str) -> object:
    """An option's inline object, JSON or Python spelling; None where it is neither."""
    if len(text) > _LITERAL_LIMIT:
        return None
    import ast  # noqa: PLC0415  # both are dear to load, and few requests hold such an option
    import json  # noqa: PLC0415

    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None
