"""The settings that a start-up log shows: of the arguments that differ from the defaults, and of the engine's configuration line."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence

from envcheck.model.learned import SettingValue
from envcheck.model.loglines import LogSetting

_LONGEST = 2000  # characters of a value; a longer one is not looked into, for Python's parser has no bound of its own
_MOST = 500  # settings of a line
_NOTHING = frozenset({"none", "null", ""})
_OPENING, _CLOSING = "([{<", ")]}>"


def of_arguments(text: str, known: Sequence[LogSetting]) -> dict[str, SettingValue]:
    """Those of a line `non-default args: {...}`; a line cut short yields what can be read of it."""
    return _chosen(text.strip().removeprefix("{"), ":", {setting.name: setting.name for setting in known})


def of_namespace(text: str, known: Sequence[LogSetting]) -> dict[str, SettingValue]:
    """Those of a line `args: Namespace(...)`, defaults too; `text` is what follows the parenthesis."""
    return _chosen(text, "=", {setting.name: setting.name for setting in known})


def of_config(text: str, known: Sequence[LogSetting]) -> dict[str, SettingValue]:
    """Those of the engine's configuration line: what took effect."""
    return _chosen(text, "=", {setting.config: setting.name for setting in known if setting.config})


def _chosen(text: str, sign: str, names: dict[str, str]) -> dict[str, SettingValue]:
    """`names` = the name in the line → the setting's."""
    found: dict[str, SettingValue] = {}
    for part in _parts(text):
        name, _, told = part.partition(sign)
        setting = names.get(name.strip(" '\""))
        value = _written(told.strip()) if setting else None
        if setting and value is not None:
            found.setdefault(setting, value)
    return found


def _parts(text: str) -> Iterator[str]:
    """What commas separate, those inside quotes and brackets left alone; it ends where the bracket that was opened before ends.

    What has no end is left out: of a line cut short, `8192` may be left as `81`.
    """
    depth, quote, start, count = 0, "", 0, 0
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[place - 1] != "\\" else quote
        elif sign in "'\"":
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING and depth == 0:
            yield text[start:place]
            return
        elif sign in _CLOSING:
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[start:place]
            start, count = place + 1, count + 1
            if count > _MOST:
                return


def _written(text: str) -> SettingValue | None:
    """A value as Python writes it; words without quotes are `torch.bfloat16` or `mxfp4`."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _plain(text.removeprefix("torch.")) if text.replace(".", "").replace("_", "").isalnum() else None


def _plain(value: object) -> SettingValue | None:
    """A value as a serve argument: what is no text, number or yes-or-no as JSON; None for what says nothing."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return None if value.lower() in _NOTHING else value
    if value is None or value in ({}, []):
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
