"""Plans for host documents, against the real facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.plan import InstallRecipe, Plan
from envcheck.model.request import Request
from envcheck.planning.plan import make_plan
from envcheck.rules.check import Judgement, judge

TOP = Path(__file__).parents[2]


class Planned(NamedTuple):
    """A judged and planned host."""

    judgement: Judgement
    plan: Plan

    def argv(self, tool: str) -> list[tuple[str, ...]]:
        """The commands of one installer."""
        return [step.argv for step in self.recipe(tool).steps]

    def recipe(self, tool: str) -> InstallRecipe:
        """The recipe of one installer."""
        return next(recipe for recipe in self.plan.install if recipe.tool == tool)


PlanFor = Callable[..., Planned]
HostOf = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """The real facts."""
    return Matrix(TOP / "matrices")


@pytest.fixture(scope="session")
def plan_for(matrix: Matrix) -> PlanFor:
    """`plan_for(document, **request)`."""

    def planned(document: dict[str, Any], /, **request: Any) -> Planned:
        asked = Request(**request)
        judgement = judge(msgspec.convert(document, HostReport), matrix, asked)
        return Planned(judgement, make_plan(judgement, matrix, asked))

    return planned


@pytest.fixture(scope="session")
def host_of() -> HostOf:
    """`host_of(gpu, capability, driver)` is a host document of Ubuntu 22.04; more keys replace its parts."""

    def host(gpu: str, capability: str, driver: str, *, python: str = "3.12.3", count: int = 1, **more: Any) -> dict[str, Any]:
        return {
            "os": {"name": "Ubuntu 22.04.5 LTS", "arch": "x86_64", "glibc": "2.35"},
            "python": {"version": python, "executable": f"/usr/bin/python{python.rpartition('.')[0]}"},
            "driver": {"version": driver, "library_version": driver, "nvml": "ok"},
            "gpus": [{"index": place, "name": gpu, "compute_capability": capability} for place in range(count)],
            "torch": None,
            "packages": {},
            **more,
        }

    return host
