"""A model in a local folder: `config.json`, what is stated beside it, and the headers of the weight files."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.errors import CannotTellError, InputError, UsageError
from envcheck.model.fact import Absent, Found
from envcheck.model.modelspec import ModelSource, ModelSpec, StoredWeights
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.quantization_files import QUANTIZATION_FILES, with_quantization
from envcheck.readers.safetensors import HEADER_LIMIT, INDEX_LIMIT, LENGTH_BYTES, file_tensors, header_length, index_bytes, index_files
from envcheck.readers.tensors import Tensor, stored_weights
from envcheck.system.port import System

INDEX = "model.safetensors.index.json"
_OLD_INDEX = "pytorch_model.bin.index.json"
_MOST_FILES = 1024
_NOT_THE_MODEL = ("consolidated", "adapter_model")  # the same weights under other names, and a part that is loaded on demand


def read_folder(path: str, system: System) -> ModelSpec:
    """The model in a folder that exists.

    Raises UsageError where it has no `config.json`, CannotTellError where that cannot be read, InputError where it is broken.
    """
    folder = path.rstrip("/")
    place = f"{folder}/config.json"
    read = system.read(place, CONFIG_LIMIT + 1)
    if isinstance(read, Absent):
        raise UsageError("error.model-folder-no-config", path=path)
    if not isinstance(read, Found):
        raise CannotTellError("error.model-folder-unreadable", path=place, why=read.why)
    config = with_quantization(parse_config(read.value, place), lambda: _stated(folder, system))
    return with_weights(ModelSpec(path, config, ModelSource("folder", path)), folder_weights(folder, system), folder, system)


def with_weights(spec: ModelSpec, stored: StoredWeights | None, folder: str, system: System) -> ModelSpec:
    """The model with its bytes: those of the headers, else the total that an index states."""
    if stored is not None:
        return msgspec.structs.replace(spec, weights_bytes=stored.total_bytes, weights_basis="headers", stored=stored)
    for name in (INDEX, _OLD_INDEX):
        read = system.read(f"{folder}/{name}", INDEX_LIMIT)
        total = index_bytes(read.value) if isinstance(read, Found) else None
        if total is not None:
            return msgspec.structs.replace(spec, weights_bytes=total, weights_basis="index")
    return spec


def folder_weights(folder: str, system: System) -> StoredWeights | None:
    """What the headers of all weight files say; None where one of them is missing or cannot be read, for a part is no size."""
    names = _weight_files(folder, system)
    if len(names) > _MOST_FILES:
        return None
    files = [file_header(f"{folder}/{name}", system) for name in names]
    known = [tensors for tensors in files if tensors is not None]
    return stored_weights(known) if known and len(known) == len(files) else None


def file_header(path: str, system: System) -> list[Tensor] | None:
    """The tensors of one file; two bounded reads: the header's length, the header."""
    first = system.read(path, LENGTH_BYTES)
    length = header_length(first.value) if isinstance(first, Found) else None
    if length is None:
        return None
    read = system.read(path, min(length, HEADER_LIMIT) + LENGTH_BYTES)
    return file_tensors(read.value) if isinstance(read, Found) else None


def _weight_files(folder: str, system: System) -> list[str]:
    """The names of the files that are loaded: those the index names, else all that are there."""
    read = system.read(f"{folder}/{INDEX}", INDEX_LIMIT)
    named = index_files(read.value) if isinstance(read, Found) else ()
    if named:
        return list(named)
    found = [path.rpartition("/")[2] for path in system.glob(f"{_escaped(folder)}/*.safetensors", _MOST_FILES + 1)]
    return [name for name in found if not name.startswith(_NOT_THE_MODEL)] or [name for name in found if not name.startswith("adapter")]


def _stated(folder: str, system: System) -> list[dict[str, Any]]:
    """What the files say that older tools wrote beside the configuration; a broken one says nothing."""
    found = []
    for name in QUANTIZATION_FILES:
        read = system.read(f"{folder}/{name}", CONFIG_LIMIT)
        if isinstance(read, Found):
            try:
                found.append(parse_config(read.value, name))
            except InputError:
                continue
    return found


def _escaped(path: str) -> str:
    """A path with the signs of a pattern taken literally."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)
