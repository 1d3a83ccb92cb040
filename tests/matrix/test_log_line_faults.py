"""Faults of log_lines.json that validation must see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.validate import validate

Spoil = Callable[[str, Callable[[Any], None]], Path]


@pytest.mark.parametrize(
    ("spoilt", "what"),
    [
        ({"pattern": "(?P<kv>["}, "no regular expression"),
        ({"pattern": r"(?P<keys>\d+)"}, "nothing reads the group `keys`"),
        ({"releases": "0.19"}, "no version specifier"),
        ({"marker": " "}, "a marker"),
        ({"id": "zz"}, "out of order"),
    ],
)
def test_a_line_that_cannot_be_right(spoil: Spoil, spoilt: dict[str, str], what: str) -> None:
    folder = spoil("log_lines.json", lambda value: value["lines"][0].update(spoilt))
    assert any(problem.path.startswith("$.lines[") and what in problem.what for problem in validate(folder))


@pytest.mark.parametrize(
    ("spoilt", "what"),
    [
        ({"line": "none"}, "there is no line `none`"),
        ({"place": "worker.py"}, "no place in a source file"),
        ({"releases": ["0.99.0"]}, "there is no release 0.99.0"),
    ],
)
def test_a_place_that_cannot_be_right(spoil: Spoil, spoilt: dict[str, Any], what: str) -> None:
    folder = spoil("log_lines.json", lambda value: value["places"][0].update(spoilt))
    assert any(problem.path == "$.places[0]" and what in problem.what for problem in validate(folder))
