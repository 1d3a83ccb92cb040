"""What does the work of an argument that a release lacks: another argument, a variable, or a field of an argument's JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.matrix.flags import Flags, Replacement, within

_LOOKUP = "[ngram]"  # how the words before the JSON named speculation without a draft model
_POOLED = {"embed": "embed", "embedding": "embed", "classify": "classify", "score": "classify", "reward": "reward"}


class Successor(msgspec.Struct, frozen=True):
    """`arguments` by full name, `variables`, and `fields` of the JSON of an argument by its full name; nothing = there is none."""

    arguments: dict[str, Any] = {}
    variables: dict[str, str] = {}
    fields: dict[str, dict[str, Any]] = {}


def successor(flags: Flags, version: Version, name: str, value: Any) -> Successor:
    """What takes an argument's place in a release, for its value. Source: the replacements of `flags.json`."""
    found = flags.replacement(name, version)
    if found is None or (value in (None, False) and found.why != "variable"):
        return Successor()
    made = _MADE.get(found.why)
    return made(flags, version, found, value) if made else Successor()


def _renamed(flags: Flags, version: Version, found: Replacement, value: Any) -> Successor:
    name, _, fixed = (found.instead or "").partition(" ")
    if found.field:
        value = _object(value).get(found.field)
        return Successor({name: value}) if isinstance(value, str) else Successor()
    return Successor({name: fixed or value})


def _variable(flags: Flags, version: Version, found: Replacement, value: Any) -> Successor:
    read = flags.variable(found.instead or "")
    if value is None or read is None or not within(read, version):
        return Successor()
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return Successor(variables={found.instead or "": text.upper() if found.name == "--log-level" else text})


def _in_json(flags: Flags, version: Version, found: Replacement, value: Any) -> Successor:
    if not found.field or not found.instead:
        return Successor()
    if value == _LOOKUP:
        return Successor(fields={found.instead: {"method": "ngram"}})
    told = _object(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    return Successor(fields={found.instead: {found.field: told}})


def _speculative_words(flags: Flags, version: Version, found: Replacement, value: Any) -> Successor:
    """The JSON back into words; a method that the words cannot name has none."""
    told = _object(value)
    method, model, count = told.get("method"), told.get("model"), told.get("num_speculative_tokens")
    if method not in (None, "ngram", "draft_model") or not isinstance(count, int):
        return Successor()
    names = {"prompt_lookup_max": "--ngram-prompt-lookup-max", "prompt_lookup_min": "--ngram-prompt-lookup-min"}
    words = {name: told[field] for field, name in names.items() if isinstance(told.get(field), int)}
    if method == "ngram" or model in ("ngram", _LOOKUP):
        # The words have no default for the longest match; without it the parser's release refuses to speculate.
        return Successor({found.instead or "": _LOOKUP, "--num-speculative-tokens": count, **words}) if words else Successor()
    return Successor({found.instead or "": model, "--num-speculative-tokens": count}) if isinstance(model, str) else Successor()


def _task(flags: Flags, version: Version, found: Replacement, value: Any) -> Successor:
    if value in ("generate", "auto"):
        return Successor({"--runner": value})
    convert = _POOLED.get(value) if isinstance(value, str) else None
    return Successor({"--runner": "pooling", "--convert": convert}) if convert else Successor()


def _cache_switch(flags: Flags, version: Version, found: Replacement, value: Any) -> Successor:
    """A cache of no size is one that is switched off; another size is a variable's where the release reads it."""
    if value in (0, "0"):
        return Successor({found.instead or "": True})
    read = flags.variable("VLLM_MM_INPUT_CACHE_GIB")
    return Successor(variables={"VLLM_MM_INPUT_CACHE_GIB": str(value)}) if read and within(read, version) else Successor()


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


_MADE = {
    "renamed": _renamed,
    "variable": _variable,
    "in-json": _in_json,
    "speculative-words": _speculative_words,
    "task": _task,
    "cache-switch": _cache_switch,
}
