"""vLLM's own serve arguments on our command line: `--max-model-len 8192`, `--enforce-eager`, `--gpu-memory-utilization=0.85`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from envcheck.errors import UsageError

_NAME = re.compile(r"--[A-Za-z][A-Za-z0-9_.-]*\Z")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")
_LONGEST = 4096  # characters of a value


def parse_serve_args(words: Sequence[str], own_options: Iterable[str]) -> dict[str, Any]:
    """Arguments in snake case with typed values; a name without a value is a switch, `--no-x` is x off.

    Raises UsageError for a word that is no argument, and for a near miss of an option of ours, which would otherwise pass as vLLM's.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(words):
        name, equals, value = words[position].partition("=")
        if not _NAME.match(name):
            raise UsageError("error.serve-argument", text=words[position][:100])
        _refuse_near_miss(name, own_options)
        position += 1
        if not equals and position < len(words) and not words[position].startswith("--"):
            value, equals = words[position], "="
            position += 1
        key = name[2:].replace("-", "_")
        if equals:
            found[key] = typed(value[:_LONGEST])
        elif key.startswith("no_"):
            found[key[3:]] = False
        else:
            found[key] = True
    return found


def typed(value: str) -> str | int | float | bool:
    """A value as vLLM's parser would take it: numbers as numbers, true and false as such, anything else as text."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not _NUMBER.match(value) or len(value) > 40:
        return value
    return float(value) if re.search(r"[.eE]", value) else int(value)


def _refuse_near_miss(name: str, own_options: Iterable[str]) -> None:
    from difflib import get_close_matches

    near = get_close_matches(name, list(own_options), 1, cutoff=0.85)
    if near:
        raise UsageError("error.option-near", text=name, near=near[0])
