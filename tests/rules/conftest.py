"""Hosts for the judge: named bases, single facts laid over them, and the table of cases."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.check import Judgement, judge

CASES = Path(__file__).parent / "cases"
TOP = Path(__file__).parents[2]

Ask = Callable[..., Judgement]


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """The real facts."""
    return Matrix(TOP / "matrices")


@pytest.fixture(scope="session")
def bases() -> dict[str, Any]:
    """Host documents by name: a healthy A100, one with vLLM installed, one whose GPU only the PCI bus shows."""
    found: dict[str, Any] = json.loads((CASES / "bases.json").read_text(encoding="utf-8"))
    return found


def laid_over(document: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """A copy with facts set by dotted path; the text UNSET takes a key away."""
    changed = copy.deepcopy(document)
    for path, value in facts.items():
        *parents, last = (int(step) if step.isdigit() else step for step in path.split("."))
        place: Any = changed
        for step in parents:
            place = place[step]
        if value == "UNSET":
            place.pop(last, None)
        else:
            place[last] = copy.deepcopy(value)
    return changed


@pytest.fixture(scope="session")
def ask(matrix: Matrix, bases: dict[str, Any]) -> Ask:
    """`ask(base, facts, **request)` judges a base with facts laid over it; a fact `request.x` goes into the request."""

    def judged(base: str, facts: dict[str, Any] | None = None, /, **request: Any) -> Judgement:
        host, wanted = question(bases[base], facts or {}, request)
        return judge(host, matrix, wanted)

    return judged


def question(base: dict[str, Any], facts: dict[str, Any], request: dict[str, Any]) -> tuple[HostReport, Request]:
    """A base with facts laid over it, and what is asked about it."""
    changed = laid_over({**base, "request": request}, facts)
    wanted = msgspec.convert(changed.pop("request"), Request)
    return msgspec.convert(changed, HostReport), wanted


@pytest.fixture(scope="session")
def asked(bases: dict[str, Any]) -> Callable[..., tuple[HostReport, Request]]:
    """`asked(base, facts, **request)` is the host and the request that `ask` judges."""

    def made(base: str, facts: dict[str, Any] | None = None, /, **request: Any) -> tuple[HostReport, Request]:
        return question(bases[base], facts or {}, request)

    return made


def read_cases() -> list[dict[str, Any]]:
    """Every case of every file, in order."""
    files = sorted(path for path in CASES.glob("*.json") if path.name != "bases.json")
    return [case for path in files for case in json.loads(path.read_text(encoding="utf-8"))]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `case` runs once a case."""
    if "case" in metafunc.fixturenames:
        cases = read_cases()
        metafunc.parametrize("case", cases, ids=[f"{case['code']}-{number}" for number, case in enumerate(cases)])


@pytest.fixture(scope="session")
def every_case() -> list[dict[str, Any]]:
    """The whole table."""
    return read_cases()
