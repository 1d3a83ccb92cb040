"""`envcheck --version`: the program, the day of its facts and where they lie."""

from __future__ import annotations

import os

from envcheck import __version__
from envcheck.errors import MatrixError
from envcheck.matrix.load import Matrix
from envcheck.matrix.locate import locate
from envcheck.render.catalogue import Catalogue, choose_language


def version_text() -> str:
    """Two lines; a matrix that cannot be read is said, not raised: the version must always be had."""
    try:
        matrix = Matrix(locate())
    except MatrixError as error:
        place = Catalogue(choose_language(None, os.environ)).text(error.text)
    else:
        place = f"matrix {matrix.info.date} ({matrix.folder})"
    return f"envcheck {__version__}\n{place}\n"
