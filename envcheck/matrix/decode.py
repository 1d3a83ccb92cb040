"""One file of the matrix to records, with the file and the path inside it in every error."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from envcheck.errors import MatrixError

T = TypeVar("T")
LIMIT_BYTES = 8 << 20  # the largest shipped file is a tenth of it
_MAX_FILES = 500


def read_bounded(path: Path) -> bytes:
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


def _read(descriptor: int, path: Path) -> bytes:
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        raise MatrixError("error.matrix-invalid", file=shown(path), why="not a regular file")
    if state.st_size > LIMIT_BYTES:
        raise MatrixError("error.matrix-invalid", file=shown(path), why=f"larger than {LIMIT_BYTES} bytes")
    parts: list[bytes] = []
    while part := os.read(descriptor, LIMIT_BYTES):
        parts.append(part)
        if sum(map(len, parts)) > LIMIT_BYTES:  # it grew while it was read
            raise MatrixError("error.matrix-invalid", file=shown(path), why=f"larger than {LIMIT_BYTES} bytes")
    return b"".join(parts)


def decode(path: Path, decoder: msgspec.json.Decoder[T]) -> T:
    """The records of one file. Raises MatrixError such as `matrices/torch.json: $[3].released: Expected `str`, got `int``."""
    data = read_bounded(path)
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(path, str(error)) from error


def invalid(path: Path, message: str) -> MatrixError:
    """The error of a bad file, the place inside it first."""
    text, found, place = message.rpartition(" - at `")
    why = f"{place.rstrip('`')}: {text}" if found else message
    return MatrixError("error.matrix-invalid", file=shown(path), why=why)


def decoder_of(type_: Any) -> msgspec.json.Decoder[Any]:
    """A typed decoder; making one is dear enough that each file's is made when it is first read."""
    return msgspec.json.Decoder(type_)


def release_files(folder: Path) -> list[Path]:
    """The files of vLLM releases, one per minor series. Raises MatrixError when there is none, or suspiciously many."""
    files = sorted((folder / "vllm").glob("*.json"))[: _MAX_FILES + 1]
    if not files or len(files) > _MAX_FILES:
        raise MatrixError("error.matrix-invalid", file=shown(folder / "vllm"), why=f"{len(files)} files of releases")
    return files


def shown(path: Path) -> str:
    """`matrices/vllm/0.19.json`: from the matrix folder's own name on, as a person would name it."""
    parts = path.parts
    tail = 3 if path.parent.name == "vllm" else 2
    return "/".join(parts[-tail:])
