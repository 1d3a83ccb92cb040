"""Names of serve arguments whose value nobody else should see, and the variables that they are read from instead.

vLLM reads the two that it has from variables too: VLLM_API_KEY (its own), HF_TOKEN (the hub's client library).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

VARIABLES = {"api_key": "VLLM_API_KEY", "hf_token": "HF_TOKEN"}
_ALONE = frozenset({"password", "passwd", "passphrase", "secret", "secrets", "credential", "credentials", "pwd", "apikey"})
_LAST = frozenset({"key", "keys", "token", "tokens"})
_ENDS = ("apikey", "token", "secret", "password", "accesskey")  # run together: `--hftoken`
_PLACES = frozenset({"file", "path", "dir", "folder", "id", "name", "type"})  # where a secret lies is none
_COUNTED = frozenset({"max", "min", "num", "spec", "speculative"})  # `--max-num-batched-tokens`: a count
_CLOSE = 0.8  # `--api-keey`: near enough to be meant
_SHOWN = 80


def variable_of(key: str) -> str | None:
    """The variable that a secret argument is read from instead; None where there is none."""
    name = _normal(key)
    return VARIABLES.get(name) or next((variable for known, variable in VARIABLES.items() if _means(name, known)), None)


def is_secret_argument(key: str) -> bool:
    """Whether an argument's name (any spelling, dotted too) says that its value is a secret; a beginning or a slip of one counts."""
    return _is_secret(_normal(key))


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    words = name.rpartition(".")[2].split("_")
    if any(_means(name, known) for known in VARIABLES):
        return True
    if words[-1] in _PLACES or words[0] == "tokenizer":
        return False
    if not _ALONE.isdisjoint(words):
        return True
    return (words[-1] in _LAST and _COUNTED.isdisjoint(words)) or (len(words) == 1 and words[0].endswith(_ENDS))


def written(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a command line may hold: those that are no secrets."""
    return {key: value for key, value in arguments.items() if isinstance(value, bool) or not is_secret_argument(key)}


def left_out(arguments: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The secret arguments given: each by its option, and the variable to put it in, None where there is none."""
    kept = written(arguments)
    return [("--" + _normal(key).replace("_", "-")[:_SHOWN], variable_of(key)) for key in arguments if key not in kept]


def _normal(key: str) -> str:
    return key.strip().lstrip("-").replace("-", "_").lower()[:120]


def _means(name: str, known: str) -> bool:
    """A beginning, as argument parsers take it, or a slip."""
    if known.startswith(name) and len(name) > 1:
        return True
    if abs(len(name) - len(known)) > 2:
        return False
    from difflib import SequenceMatcher  # noqa: PLC0415  # only for names of about that length

    return SequenceMatcher(None, name, known).ratio() >= _CLOSE
