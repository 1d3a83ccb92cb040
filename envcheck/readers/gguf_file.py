"""A model in a GGUF file, or in the parts that one was split into."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from envcheck.errors import CannotTellError, InputError
from envcheck.model.fact import Absent, Found
from envcheck.model.modelspec import ModelSource, ModelSpec, StoredWeights
from envcheck.readers.gguf import GGUF_LIMIT, MOST_TENSORS, Gguf, TooShortError, parse_gguf
from envcheck.readers.gguf_config import config_of
from envcheck.readers.tensors import stored_weights
from envcheck.system.port import System

_FIRST_READ, _SECOND_READ = 1 << 20, 16 << 20  # bytes; most headers are far shorter than the longest that is read
_MOST_PARTS = 1024
_PART = re.compile(r"(.*)-\d{5}-of-(\d{5})\.gguf", re.DOTALL)  # what llama.cpp's gguf-split calls its files


Headers = Callable[[str, int], Gguf]  # the header of a file; how many files the model is known to be in


def read_gguf(path: str, system: System) -> ModelSpec:
    """The model in a GGUF file that exists.

    Raises CannotTellError where a file cannot be read, InputError where it is no such file or a part is missing.
    """
    config, stored = assembled(path, lambda part, count: _header(part, system, path, count))
    return ModelSpec(path, config, ModelSource("folder", path), stored.total_bytes or None, "headers", stored)


def assembled(path: str, header: Headers) -> tuple[dict[str, Any], StoredWeights]:
    """The configuration and the tensors of a file; a part of one stands for all of them, the first of which has the model's values.

    Raises InputError where its parts cannot be told, are too many or not all there.
    """
    named = header(path, 1)
    paths = part_paths(path, named.values.get("split.count"))
    first = named if paths[0] == path else header(paths[0], len(paths))
    parts = [first.tensors]
    for part in paths[1:]:
        # Of the other parts only the tensors count, and are kept.
        parts.append(named.tensors if part == path else header(part, len(paths)).tensors)
        if sum(map(len, parts)) > MOST_TENSORS:
            break
    held = sum(map(len, parts))
    if held > MOST_TENSORS or first.values.get("split.tensors.count", held) != held:
        raise InputError("error.model-gguf", path=path)
    whole = Gguf(first.values, [tensor for part in parts for tensor in part])
    return config_of(whole), stored_weights(parts)


def part_paths(path: str, count: object) -> list[str]:
    """The paths of all parts; `count` = what the file says of their number. Raises InputError where its name does not lead to them."""
    if count is None or count == 1:
        return [path]
    found = _PART.fullmatch(path)
    if not found or not isinstance(count, int) or int(found[2]) != count or not 1 < count <= _MOST_PARTS:
        raise InputError("error.model-gguf-name", path=path)
    return [f"{found[1]}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]


def _header(path: str, system: System, asked: str = "", count: int = 1) -> Gguf:
    """One file's header, by reads that grow; `asked` = the file that the user named, one of `count`."""
    for limit in (_FIRST_READ, _SECOND_READ, GGUF_LIMIT):
        read = system.read(path, limit)
        if isinstance(read, Absent) and count > 1:
            raise InputError("error.model-gguf-part", path=asked, count=count, part=path)
        if not isinstance(read, Found):
            raise CannotTellError("error.model-folder-unreadable", path=path, why=read.why)
        try:
            header = parse_gguf(read.value)
        except TooShortError:
            if len(read.value) < limit:
                break
            continue
        if header is None:
            break
        return header
    raise InputError("error.model-gguf", path=path)
