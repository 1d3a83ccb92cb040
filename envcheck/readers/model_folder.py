"""A model in a local folder: its `config.json`, and what its weights weigh."""

from __future__ import annotations

from envcheck.errors import CannotTellError, UsageError
from envcheck.model.fact import Absent, Found
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.safetensors import HEADER_LIMIT, INDEX_LIMIT, header_length, index_bytes, tensors_bytes
from envcheck.system.port import System

_MOST_FILES = 1024


def read_folder(path: str, system: System) -> ModelSpec:
    """The model in a folder that exists.

    Raises UsageError where it has no `config.json`, CannotTellError where that cannot be read, InputError where it is broken.
    """
    place = f"{path.rstrip('/')}/config.json"
    read = system.read(place, CONFIG_LIMIT + 1)
    if isinstance(read, Absent):
        raise UsageError("error.model-folder-no-config", path=path)
    if not isinstance(read, Found):
        raise CannotTellError("error.model-folder-unreadable", path=place, why=read.why)
    return ModelSpec(path, parse_config(read.value, place), ModelSource("folder", path), weights_bytes(path, system))


def weights_bytes(path: str, system: System) -> int | None:
    """The checkpoint's bytes: the index's total, else the headers of all safetensors files; None where neither tells."""
    folder = path.rstrip("/")
    index = system.read(f"{folder}/model.safetensors.index.json", INDEX_LIMIT)
    total = index_bytes(index.value) if isinstance(index, Found) else None
    if total is not None:
        return total
    files = system.glob(f"{_escaped(folder)}/*.safetensors", _MOST_FILES)
    sizes = [file_bytes(file, system) for file in files]
    return sum(size for size in sizes if size) if sizes and all(sizes) else None


def file_bytes(path: str, system: System) -> int | None:
    """Bytes of the tensors of one file; two bounded reads: the header's length, the header."""
    first = system.read(path, 8)
    length = header_length(first.value) if isinstance(first, Found) else None
    if length is None:
        return None
    read = system.read(path, min(length, HEADER_LIMIT) + 8)
    return tensors_bytes(read.value) if isinstance(read, Found) else None


def _escaped(path: str) -> str:
    """A path with the signs of a pattern taken literally."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)
