"""Whatever release, wheel or driver is recommended for a host must be judged to run on that host.

The recommendation is put back as a question: the release named is asked for, on the driver named. What the judge answers to such
questions is checked against the raw facts by the truth table beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.model.stack import Stack
from envcheck.planning.plan import make_plan
from envcheck.rules.check import Judgement, judge

FACTS = Path(__file__).parents[2] / "matrices"
CAPABILITIES = ("6.1", "7.0", "7.5", "8.0", "8.6", "9.0", "10.0", "10.3", "12.0", "12.1")
DRIVERS = ("470.161.03", "525.60.13", "550.144.03", "570.144", "575.57.08", "580.95.05", "595.84")
LIBCS = ("2.17", "2.28", "2.31", "2.39")
PYTHONS = ("3.6.8", "3.10.12")
ASKED = (None, "0.33.0", "0.20.0", "0.19.1", "0.9.2")
Facts = dict[str, Any]


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(FACTS)


def host(arch: str, gpu: str, driver: str, glibc: str, python: str) -> Facts:
    return {
        "os": {"name": "some Linux", "arch": arch, "glibc": glibc, "wsl": False},
        "python": {"version": python},
        "driver": {"version": driver},
        "gpus": [{"index": 0, "compute_capability": gpu}],
        "torch": None,
        "packages": {},
        "container": None,
    }


def ask(matrix: Matrix, facts: Facts, vllm: str | None, *, remedies: bool = False) -> Judgement:
    return judge(msgspec.convert(facts, HostReport), matrix, Request(vllm=vllm), remedies=remedies)


def recommended(judgement: Judgement, facts: Facts) -> Iterator[tuple[str, Facts]]:
    """Each release that a remedy names as one that runs, with the host as the remedy would have it."""
    for finding in judgement.findings:
        for way in finding.remedies:
            release, driver = way.note.params.get("vllm"), way.note.params.get("driver")
            if release is not None and way.kind == "other-wheel":
                yield str(release), facts
            elif release is not None and way.kind == "driver":
                yield str(release), {**facts, "driver": {"version": driver}}


def named(stack: Stack) -> str:
    return f"{stack.vllm}+{stack.variant}" if stack.variant else stack.vllm


@pytest.mark.parametrize("gpu", CAPABILITIES)
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_what_is_recommended_runs(matrix: Matrix, arch: str, gpu: str) -> None:
    wrong = set()
    for driver, glibc, python, vllm in product(DRIVERS, LIBCS, PYTHONS, ASKED):
        facts = host(arch, gpu, driver, glibc, python)
        judgement = ask(matrix, facts, vllm, remedies=True)
        plan = make_plan(judgement, matrix, Request(vllm=vllm))
        stacks = [(named(stack), {**facts, "python": {"version": stack.python}}) for stack in (*plan.alternatives, *plan.ways_out)]
        if plan.stack:
            stacks.append((named(plan.stack), {**facts, "python": {"version": plan.stack.python}}))
        dropped = any(finding.detail.key.endswith(".dropped") for finding in judgement.findings)
        for release, changed in () if dropped else (*recommended(judgement, {**facts, "python": {"version": "3.12.3"}}), *stacks):
            if ask(matrix, changed, release).verdict not in (Verdict.READY, Verdict.READY_WITH_WARNINGS):
                wrong.add(f"{driver}, glibc {glibc}, Python {python}, asked {vllm}: {release} on {changed['driver']['version']}")
    assert wrong == set()
