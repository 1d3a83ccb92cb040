"""The shipped matrix, loaded once, and copies of it to spoil."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix

SHIPPED = Path(__file__).parents[2] / "matrices"


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return Matrix(SHIPPED)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "matrices"))


@pytest.fixture
def spoil(copy: Path) -> Callable[[str, Callable[[Any], None]], Path]:
    """Changes one decoded file of the copy in place; returns the copy's folder."""

    def change(name: str, edit: Callable[[Any], None]) -> Path:
        path = copy / name
        value = json.loads(path.read_bytes())
        edit(value)
        path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return copy

    return change
