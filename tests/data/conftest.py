"""The shipped facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcheck.matrix.load import Matrix


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")
