"""A log to its diagnosis."""

from __future__ import annotations

from collections.abc import Iterable

from envcheck.diagnosis.causes import diagnosis_of
from envcheck.diagnosis.index import index_of
from envcheck.diagnosis.scan import scanned
from envcheck.matrix.load import Matrix
from envcheck.model.diagnosis import Diagnosis


def diagnose(blocks: Iterable[bytes], matrix: Matrix) -> Diagnosis:
    """What failed first in a log given as blocks of bytes, which may end anywhere; memory does not grow with the log."""
    return diagnosis_of(scanned(blocks, index_of(matrix)), matrix)


def diagnose_text(text: str, matrix: Matrix) -> Diagnosis:
    """The same for a text at hand."""
    return diagnose((text.encode("utf-8", "replace"),), matrix)
