"""A model on a hub: its `config.json`, the index of its weights and the headers of their files."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.errors import CannotTellError, EnvcheckError, InputError, UsageError
from envcheck.model.modelspec import ModelSource, ModelSpec, StoredWeights
from envcheck.readers.hub import Hub
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.quantization_files import QUANTIZATION_FILES, with_quantization
from envcheck.readers.ranges import remote_weights
from envcheck.readers.remote_file import Repository
from envcheck.readers.safetensors import INDEX_LIMIT, index_bytes, index_files
from envcheck.system.port import System
from envcheck.system.store import NoStore, Store

_INDEX, _OLD_INDEX, _ONE_FILE = "model.safetensors.index.json", "pytorch_model.bin.index.json", "model.safetensors"
_PLAIN = ("F64", "F32", "F16", "BF16", "BOOL", "I64")  # what a checkpoint that nobody quantized is made of


def fetch_model(name: str, system: System, hub: Hub, revision: str | None = None, store: Store | None = None) -> ModelSpec:
    """The model of a valid repository name.

    Raises UsageError where the hub does not know it or refuses it, CannotTellError where the hub cannot be asked, InputError on a
    broken configuration.
    """
    repository = Repository.of(name, revision, hub, system, store or NoStore())
    body = _config(repository)
    config = parse_config(body, repository.shown("config.json"))
    repository.store.put(repository.key("config.json"), body)
    index = _optional(repository, _INDEX, INDEX_LIMIT)
    state = _digest(body + (index or b""))
    stored = remote_weights(repository, index_files(index) if index else (_ONE_FILE,), state)
    if stored is None or any(dtype not in _PLAIN for dtype in stored.bytes_by_dtype):
        config = with_quantization(config, lambda: _stated(repository))
    spec = ModelSpec(name, config, ModelSource("hub", repository.shown("config.json").partition("/resolve/")[0]))
    if stored is not None:
        repository.store.put(repository.key("size", _digest(body)), msgspec.json.encode(stored))
        return msgspec.structs.replace(spec, weights_bytes=stored.total_bytes or None, weights_basis="headers", stored=stored)
    told = index or _optional(repository, _OLD_INDEX, INDEX_LIMIT)
    total = index_bytes(told) if told else None
    return msgspec.structs.replace(spec, weights_bytes=total, weights_basis="index") if total else spec


def kept_model(name: str, system: System, hub: Hub, revision: str | None, store: Store) -> ModelSpec | None:
    """The configuration that was fetched earlier, for when the hub cannot be asked; None where there is none that is whole."""
    try:
        repository = Repository.of(name, revision, hub, system, store)
        kept = store.get(repository.key("config.json"))
        config = parse_config(kept.body) if kept else None
    except EnvcheckError:
        return None
    if kept is None or config is None:
        return None
    place = repository.shown("config.json").partition("/resolve/")[0]
    spec = ModelSpec(name, config, ModelSource("hub", place, cached_s=kept.age_s))
    size = store.get(repository.key("size", _digest(kept.body)))
    stored = _decoded(size.body) if size else None
    return msgspec.structs.replace(spec, weights_bytes=stored.total_bytes, weights_basis="headers", stored=stored) if stored else spec


def _config(repository: Repository) -> bytes:
    """The bytes of `config.json`. A page where it should be is a sign-in, a block or a proxy's own words, not the model's fault."""
    answer = repository.fetch("config.json", CONFIG_LIMIT)
    if answer.truncated:
        raise InputError("error.config-too-large", name=repository.shown("config.json"), limit_mib=CONFIG_LIMIT >> 20)
    if answer.body.lstrip()[:1] == b"<":
        raise CannotTellError("error.model-hub-page", name=repository.name, hub=repository.hub.place)
    return answer.body


def _optional(repository: Repository, file: str, limit: int) -> bytes | None:
    """A file that not every model has; one that cannot be had now is not known either."""
    try:
        answer = repository.fetch(file, limit)
    except (UsageError, CannotTellError):
        return None
    return None if answer.truncated else answer.body


def _stated(repository: Repository) -> list[dict[str, Any]]:
    """What the files say that older tools wrote beside the configuration."""
    found = []
    for file in QUANTIZATION_FILES:
        body = _optional(repository, file, CONFIG_LIMIT)
        try:
            found += [parse_config(body, file)] if body else []
        except InputError:
            continue
    return found


def _decoded(body: bytes) -> StoredWeights | None:
    try:
        return msgspec.json.decode(body, type=StoredWeights)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _digest(data: bytes) -> str:
    from hashlib import sha256  # noqa: PLC0415 - only for models on a hub

    return sha256(data).hexdigest()
