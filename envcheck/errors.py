"""The errors of bad input and the exit codes. What a host lacks is a value (see `model.fact`), never an exception."""

from __future__ import annotations

from enum import IntEnum
from errno import EDQUOT, EIO, ENOSPC

from envcheck.model.text import Text


class ExitCode(IntEnum):
    """Every exit status of the command, defined once."""

    READY = 0
    BLOCKED = 1
    USAGE = 2
    UNKNOWN = 3
    INVALID_INPUT = 4
    INTERNAL = 5
    INTERRUPTED = 130


class EnvcheckError(Exception):
    """Something the user must hear about; `text` says what happened, why, and what to type next."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, key: str, **params: str | int | float) -> None:
        super().__init__(key, params)
        self.text = Text(key, dict(params))


class UsageError(EnvcheckError):
    """The request names something that does not exist: a release, a model, a code, an option's value."""

    exit_code = ExitCode.USAGE


def cannot_write(path: str, error: OSError) -> EnvcheckError:
    """The error for a place that was named and cannot be written; a full disk is no slip of whoever named it."""
    kind = EnvcheckError if error.errno in (ENOSPC, EDQUOT, EIO) else UsageError
    return kind("error.cannot-write", path=path, why=str(error.strerror))


class CannotTellError(EnvcheckError):
    """A deciding fact could not be had: a hub that cannot be asked, a file that cannot be read."""

    exit_code = ExitCode.UNKNOWN


class InputError(EnvcheckError):
    """A host document, a model configuration or another input file is invalid."""

    exit_code = ExitCode.INVALID_INPUT


class MatrixError(InputError):
    """A record under `matrices/` is invalid; the message carries its file and path."""
