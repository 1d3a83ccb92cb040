"""Where the matrix lies: a folder given, the environment's, else the newer of the user's updated copy and the shipped one."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from envcheck.errors import MatrixError
from envcheck.matrix.decode import Place
from envcheck.matrix.records import MatrixInfo

SCHEMA = 1  # the layout this code reads; a user's copy of another schema is passed over
VARIABLE = "ENVCHECK_MATRIX_DIR"
_INFO_LIMIT = 4096  # bytes


def locate(explicit: Place | None = None, environ: Mapping[str, str] | None = None) -> str:
    """The folder to read. Raises MatrixError when the one named, or every one tried, holds no `matrix.json`."""
    environ = os.environ if environ is None else environ
    named = explicit or environ.get(VARIABLE)
    if named:
        folder = os.path.expanduser(named)  # a home that is not known stays as written
        if not os.path.isfile(os.path.join(folder, "matrix.json")):
            raise MatrixError("error.matrix-missing", folder=folder)
        return os.fspath(folder)
    shipped, own = shipped_folder(), user_folder(environ)
    newer = _newer(date_of(shipped), date_of(own))
    if newer is None:
        raise MatrixError("error.matrix-missing", folder=shipped)
    return own if newer == "own" else shipped


def shipped_folder() -> str:
    """`envcheck/matrices` where installed, else `matrices` beside the package in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    installed = os.path.join(package, "matrices")
    return installed if os.path.isfile(os.path.join(installed, "matrix.json")) else os.path.join(os.path.dirname(package), "matrices")


def user_folder(environ: Mapping[str, str]) -> str:
    """The user's updated copy, by the XDG rules: a relative `XDG_DATA_HOME` does not count."""
    data = environ.get("XDG_DATA_HOME", "")
    home = data if data.startswith("/") else os.path.join(environ.get("HOME") or "/nonexistent", ".local", "share")
    return os.path.join(home, "envcheck", "matrices")


def _newer(shipped: str | None, own: str | None) -> str | None:
    if own is not None and (shipped is None or own > shipped):
        return "own"
    return None if shipped is None else "shipped"


def date_of(folder: Place) -> str | None:
    """The date of a folder's facts, None where it holds no matrix of this schema; what a broken copy says is never trusted."""
    try:
        with open(os.path.join(folder, "matrix.json"), "rb") as file:
            info = msgspec.json.decode(file.read(_INFO_LIMIT), type=MatrixInfo)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return info.date if info.schema == SCHEMA else None
