"""`envcheck --version`: the program, the day of its facts and where they lie."""

from __future__ import annotations

import os

import msgspec

from envcheck import __version__
from envcheck.errors import MatrixError
from envcheck.matrix.locate import locate
from envcheck.matrix.records import MatrixInfo

_INFO_LIMIT = 4096  # bytes


def version_text() -> str:
    """Two lines; a matrix that cannot be read is said, not raised: the version must always be had."""
    return f"envcheck {__version__}\n{_place()}\n"


def _place() -> str:
    try:
        folder = locate()
        with open(os.path.join(folder, "matrix.json"), "rb") as file:
            info = msgspec.json.decode(file.read(_INFO_LIMIT), type=MatrixInfo)
    except MatrixError as error:
        from envcheck.render.catalogue import Catalogue, choose_language

        return Catalogue(choose_language(None, os.environ)).text(error.text)
    except (OSError, msgspec.MsgspecError) as error:
        return f"matrix: {error}"
    return f"matrix {info.date} ({folder})"
