"""What the serve arguments name beside the model: a draft model for speculation, and LoRA adapters."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from envcheck.errors import EnvcheckError
from envcheck.model.modelspec import Adapter, ModelSpec
from envcheck.readers.adapter import read_adapter
from envcheck.system.port import System

_MOST_ADAPTERS = 64
_MOST_PATH = 4096
_WITHOUT_WEIGHTS = ("ngram", "[ngram]", "ngram_gpu", "suffix")  # methods and names that load nothing of their own


def with_beside(
    spec: ModelSpec, arguments: Mapping[str, Any], system: System, find: Callable[[str], ModelSpec], working_dir: str | None = None
) -> ModelSpec:
    """The model with its draft model and its adapters; `find` = a model by name, `arguments` in snake case.

    `working_dir` = where relative paths start, absolute; adapters are looked for in folders alone.
    What is named and cannot be read is in `unread`: a model is served, or not, all the same.
    """
    unread: list[str] = []
    draft, name = None, draft_name(arguments)
    if name is not None and name != spec.name:
        try:
            draft = find(name)
        except EnvcheckError:
            unread.append(name)
    adapters: list[Adapter] = []
    for adapter, path in adapter_places(arguments):
        try:
            adapters.append(read_adapter(adapter, posixpath.normpath(posixpath.join(working_dir or "/", path)), system))
        except EnvcheckError:
            unread.append(path)
    if draft is None and not adapters and not unread:
        return spec
    return msgspec.structs.replace(spec, draft=draft, adapters=tuple(adapters), unread=tuple(unread))


def draft_name(arguments: Mapping[str, Any]) -> str | None:
    """The draft model's name or path, from `speculative_config`, a field of it behind a dot, `spec_model` or `speculative_model`."""
    config = as_object(arguments.get("speculative_config"))
    name, method = (_first(arguments, field, config.get(field)) for field in ("model", "method"))
    if not isinstance(name, str) or not name.strip():
        return None
    return None if name in _WITHOUT_WEIGHTS or method in _WITHOUT_WEIGHTS else name.strip()


def _first(arguments: Mapping[str, Any], field: str, told: object) -> object:
    spelt = (told, *(arguments.get(key) for key in (f"speculative_config.{field}", f"spec_{field}", f"speculative_{field}")))
    return next((value for value in spelt if value is not None), None)


def adapter_places(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and path of each adapter of `lora_modules`: `name=path`, an object with both, or a list of these."""
    value = arguments.get("lora_modules")
    items = value if isinstance(value, list) else [value]
    return [place for item in items[:_MOST_ADAPTERS] for place in _places(item)]


def as_object(value: object) -> dict[str, Any]:
    """An object, or the JSON text of one as a command line has it; empty for anything else."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = msgspec.json.decode(value[: 1 << 16])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _places(item: object) -> Iterator[tuple[str, str]]:
    if isinstance(item, str) and not item.lstrip().startswith("{"):
        pairs = [word.partition("=")[::2] for word in item.split()]
    else:
        found = as_object(item)
        pairs = [(found.get("name", ""), found.get("path", ""))] if found else []
    for name, path in pairs:
        if isinstance(name, str) and isinstance(path, str) and name and path and path.isprintable() and len(path) < _MOST_PATH:
            yield name, path
