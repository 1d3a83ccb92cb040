"""The values of serve arguments as they may be held: a secret is put out of sight where arguments come in, before anything reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.model.secret_names import is_secret_argument
from envcheck.system.secret_values import HIDDEN

_DEEPEST = 8  # levels of a value; no argument goes deeper
_SIGNS = ("key", "token", "secret", "passw", "cred")


def hidden(key: str, value: Any) -> Any:
    """The value as it may be shown and written: of a secret argument `***`; of another one without keys that are told by their form."""
    if value is None or isinstance(value, bool):
        return value
    if is_secret_argument(key):
        return HIDDEN
    return _inside(value, 0)


def without_values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with every secret put out of sight; that there was one stays to be seen."""
    return {key: hidden(key, value) if isinstance(key, str) else value for key, value in arguments.items()}


def _inside(value: Any, depth: int) -> Any:
    """Text, also inside lists and objects, without keys that are told by form or by the word before them."""
    if isinstance(value, str):
        return _text(value)
    if depth > _DEEPEST and isinstance(value, (list, dict)):  # not looked through, so not shown
        return HIDDEN
    if isinstance(value, list):
        return [_inside(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {name: HIDDEN if _named(name, each) else _inside(each, depth + 1) for name, each in value.items()}
    return value


def _named(name: object, value: object) -> bool:
    return isinstance(name, str) and isinstance(value, str) and is_secret_argument(name)


def _text(value: str) -> str:
    from envcheck.system.token_forms import known_tokens  # most command lines hold no text of this kind

    if value.lstrip().startswith(("{", "[")) and any(word in value.lower() for word in _SIGNS):
        return _json(value)
    return known_tokens(value)


def _json(value: str) -> str:
    """JSON without its secrets, as it was written where it has none; what is no JSON by the words before its values."""
    import json  # as above

    from envcheck.system.redact_tokens import secrets  # as above

    try:
        told = json.loads(value)
        kept = _inside(told, 0)
    except (ValueError, RecursionError):
        return secrets(value)
    return value if kept == told else json.dumps(kept)
