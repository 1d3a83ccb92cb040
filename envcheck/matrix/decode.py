"""One file of the matrix to records, with the file and the path inside it in every error."""

from __future__ import annotations

import os
import stat
from typing import Any, TypeVar

import msgspec

from envcheck.errors import MatrixError

T = TypeVar("T")
Place = str | os.PathLike[str]  # not pathlib: importing it takes a thirtieth of a whole check
LIMIT_BYTES = 8 << 20  # the largest shipped file is a tenth of it
_MAX_FILES = 500


def read_bounded(path: Place) -> bytes:
    """The bytes of a regular file of at most `LIMIT_BYTES`. Raises MatrixError."""
    try:
        # Not blocking, so that a pipe in a file's place cannot hang the command.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _read(descriptor, path)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise MatrixError("error.matrix-invalid", file=shown(path), why=error.strerror or type(error).__name__) from error


def _read(descriptor: int, path: Place) -> bytes:
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        raise MatrixError("error.matrix-invalid", file=shown(path), why="not a regular file")
    if state.st_size > LIMIT_BYTES:
        raise MatrixError("error.matrix-invalid", file=shown(path), why=f"larger than {LIMIT_BYTES} bytes")
    parts: list[bytes] = []
    # One byte more than it has shows its end; room for the largest file would be mapped and given back by the kernel at every one.
    while part := os.read(descriptor, state.st_size + 1):
        parts.append(part)
        if sum(map(len, parts)) > LIMIT_BYTES:  # it grew while it was read
            raise MatrixError("error.matrix-invalid", file=shown(path), why=f"larger than {LIMIT_BYTES} bytes")
    return b"".join(parts)


def decode(path: Place, decoder: msgspec.json.Decoder[T]) -> T:
    """The records of one file. Raises MatrixError such as `matrices/torch.json: $[3].released: Expected `str`, got `int``."""
    data = read_bounded(path)
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(path, str(error)) from error


def invalid(path: Place, message: str) -> MatrixError:
    """The error of a bad file, the place inside it first."""
    text, found, place = message.rpartition(" - at `")
    why = f"{place.rstrip('`')}: {text}" if found else message
    return MatrixError("error.matrix-invalid", file=shown(path), why=why)


def decoder_of(type_: Any) -> msgspec.json.Decoder[Any]:
    """A typed decoder; making one is dear enough that each file's is made when it is first read."""
    return msgspec.json.Decoder(type_)


def release_files(folder: Place) -> list[tuple[tuple[int, ...], str]]:
    """The files of vLLM releases, one per minor series such as (0, 33), the newest first.

    Raises MatrixError when there is none, suspiciously many, or one that is named like no series.
    """
    inner = os.path.join(folder, "vllm")
    try:
        names = [name for name in os.listdir(inner) if name.endswith(".json")]
    except OSError:
        names = []
    if not names or len(names) > _MAX_FILES:
        raise MatrixError("error.matrix-invalid", file=shown(inner), why=f"{len(names)} files of releases")
    return sorted(((_series(inner, name), os.path.join(inner, name)) for name in names), reverse=True)


def _series(folder: str, name: str) -> tuple[int, ...]:
    parts = name.removesuffix(".json").split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() and len(part) <= 9 for part in parts):
        raise MatrixError("error.matrix-invalid", file=shown(os.path.join(folder, name)), why="not named like a minor series, `0.33.json`")
    return tuple(map(int, parts))


def folder_files(folder: Place, name: str) -> list[str]:
    """The names of the files of one folder of the matrix, as `signatures/cuda.json`, sorted. Raises MatrixError where there is none."""
    try:
        found = sorted(f"{name}/{entry}" for entry in os.listdir(os.path.join(folder, name)) if entry.endswith(".json"))
    except OSError as error:
        raise MatrixError("error.matrix-invalid", file=shown(os.path.join(folder, name)), why=error.strerror or "not readable") from error
    if not found or len(found) > _MAX_FILES:
        raise MatrixError("error.matrix-invalid", file=shown(os.path.join(folder, name)), why=f"{len(found)} files")
    return found


def shown(path: Place) -> str:
    """`matrices/vllm/0.19.json`: from the matrix folder's own name on, as a person would name it."""
    parts = os.path.normpath(os.fspath(path)).split(os.sep)
    tail = 3 if parts[-2:-1] == ["vllm"] else 2
    return "/".join(parts[-tail:])
