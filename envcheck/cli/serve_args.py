"""vLLM's own serve arguments on our command line: `--max-model-len 8192`, `--enforce-eager`, `--gpu-memory-utilization=0.85`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from envcheck.errors import UsageError
from envcheck.model.secret_names import is_secret_argument
from envcheck.system.secret_arguments import hidden
from envcheck.system.secret_values import HIDDEN

if TYPE_CHECKING:
    from envcheck.matrix.flags import Flags

_NAME = re.compile(r"--[A-Za-z][A-Za-z0-9_.-]*\Z")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")
_SHORT = re.compile(r"-[A-Za-z][A-Za-z-]{0,30}\Z")
_LONGEST = 4096  # characters of a value
_MOST = 256  # words behind one name
_TEXTS = ("revision", "code_revision", "tokenizer_revision", "served_model_name", "api_key")  # a commit may be all digits


def parse_serve_args(words: Sequence[str], own_options: Iterable[str], flags: Callable[[], Flags] | None = None) -> dict[str, Any]:
    """Arguments in snake case with typed values; a name without a value is a switch, `--no-x` is x off.

    `flags` gives the arguments of all releases, and is asked only where it matters: for several words behind one name, which become a
    list, and for short names such as `-tp`. Raises UsageError for a word that is no argument, and for a near miss of an option of ours,
    which would otherwise pass as vLLM's. The value of a secret argument is not kept: nothing behind this border can show it.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(words):
        name, equals, value = words[position].partition("=")
        name = _long(name, flags)
        if not _NAME.match(name):
            raise UsageError("error.serve-argument", text=_shown(words, position))
        _refuse_near_miss(name, own_options, flags)
        position += 1
        values = [value] if equals else []
        if not equals:
            behind = _values(words[position:], name, flags)
            values, position = list(behind), position + len(behind)
        key = name[2:].replace("-", "_")
        if values:
            told = [text_of(each) if key in _TEXTS else typed(each[:_LONGEST]) for each in values]
            found[key] = hidden(key, told if len(told) > 1 else told[0])
        elif key.startswith("no_"):
            found[key[3:]] = False
        else:
            found |= _switched(name, key, flags)
    return found


def _shown(words: Sequence[str], position: int) -> str:
    """A word that is no argument, without what may be a secret: a value, a key by its form, a second word behind a secret's name."""
    before = next((word for word in reversed(words[:position]) if word.startswith("--")), "")
    if before and is_secret_argument(before.partition("=")[0]):
        return HIDDEN
    name, equals, _ = words[position].partition("=")
    return str(hidden("", name[:100])) + (equals and "=...")


def _switched(name: str, key: str, flags: Callable[[], Flags] | None) -> dict[str, bool]:
    """A switch that is on, or `--disable-x` that is the other half of `--enable-x` as x off, whatever the release calls it."""
    if flags is not None and name.startswith("--disable"):
        flag = flags().negated(name.replace("_", "-"))
        if flag is not None:
            return {flag.name[2:].replace("-", "_"): False}
    return {key: True}


def _long(name: str, flags: Callable[[], Flags] | None) -> str:
    """The full name of a short one."""
    if flags is None or not _SHORT.match(name):
        return name
    flag = flags().flag(name)
    return flag.name if flag else name


def _values(words: Sequence[str], name: str, flags: Callable[[], Flags] | None) -> Sequence[str]:
    """The words behind a name that are its values: one, or all up to the next argument where a release takes several."""
    count = 0
    while count < min(len(words), _MOST) and not words[count].startswith("--") and not _SHORT.match(words[count]):
        count += 1
    if count > 1:
        flag = flags().flag(name) if flags else None
        count = count if flag and any(form.several for form in flag.forms) else 1
    return words[:count]


def text_of(value: str) -> str:
    """A value that stays text even where it looks like a number."""
    return value[:_LONGEST]


def typed(value: str) -> str | int | float | bool:
    """A value as vLLM's parser would take it: numbers as numbers, true and false as such, anything else as text."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not _NUMBER.match(value) or len(value) > 40:
        return value
    return float(value) if re.search(r"[.eE]", value) else int(value)


def _refuse_near_miss(name: str, own_options: Iterable[str], flags: Callable[[], Flags] | None) -> None:
    """A slip of an option of ours; an argument of vLLM's is none, even one that we have too, as behind `--`."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(own_options), 1, cutoff=0.85)
    if not near or (flags is not None and flags().flag(name.replace("_", "-")) is not None):
        return
    raise UsageError("error.option-behind" if near[0] == name else "error.option-near", text=name, near=near[0])
