"""The settings that a start-up log shows: of the arguments that differ from the defaults, and of the engine's configuration line."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from envcheck.model.learned import SettingValue
from envcheck.model.loglines import LogSetting

_LONGEST = 2000  # characters of a value
_NOTHING = frozenset({"none", "null", ""})


def of_arguments(text: str, known: Sequence[LogSetting]) -> dict[str, SettingValue]:
    """Those of a line `non-default args: {...}`; a line cut short yields what can be read of it."""
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # an object among them, or a line cut short
        return dict(_each(text, known, r"'{name}': ", of_config=False))
    if not isinstance(found, dict):
        return {}
    return {setting.name: value for setting in known if (value := _plain(found.get(setting.name))) is not None}


def of_namespace(text: str, known: Sequence[LogSetting]) -> dict[str, SettingValue]:
    """Those of a line `args: Namespace(...)`, defaults too."""
    return dict(_each(text, known, r"(?<![\w'\"]){name}=", of_config=False))


def of_config(text: str, known: Sequence[LogSetting]) -> dict[str, SettingValue]:
    """Those of the engine's configuration line: what took effect."""
    return dict(_each(text, known, r"(?<![\w'\"]){name}=", of_config=True))


def _each(text: str, known: Sequence[LogSetting], before: str, *, of_config: bool) -> Iterator[tuple[str, SettingValue]]:
    for setting in known:
        name = setting.config if of_config else setting.name
        if name is None:
            continue
        found = re.search(before.format(name=re.escape(name)) + r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\w.+:/-]+)", text)
        value = _written(found[1]) if found else None
        if value is not None:
            yield setting.name, value


def _written(text: str) -> SettingValue | None:
    if text[0] in "'\"":
        return _plain(text[1:-1])
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return _plain(text.removeprefix("torch."))


def _plain(value: object) -> SettingValue | None:
    """A value as a serve argument: what is no text, number or yes-or-no as JSON; None for what says nothing."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return None if value.lower() in _NOTHING else value[:_LONGEST]
    if value is None or value in ({}, []):
        return None
    try:
        return json.dumps(value)[:_LONGEST]
    except (TypeError, ValueError, RecursionError):
        return None
