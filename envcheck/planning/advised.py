"""Security advisories of a release that is planned, as the plan marks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.stack import Stack, StackAdvisories
from envcheck.model.text import Text
from envcheck.rules.advisories import newer_than_data
from envcheck.rules.check import Judgement
from envcheck.rules.entries import state_of, tally_of

if TYPE_CHECKING:
    from envcheck.matrix.advisories import Open


def advised(release: Release, judgement: Judgement, matrix: Matrix) -> StackAdvisories:
    """What is open in a release, and how much of it the request meets."""
    tally = tally_of(matrix, "vllm", release.version)
    return StackAdvisories(
        open=tally.open,
        grave=tally.grave,
        met=len(met_advisories(release, judgement, matrix)),
        gravest=tally.gravest.advisory.name if tally.gravest else None,
        fixed=str(tally.fixed) if tally.fixed else None,
        as_of=matrix.advisories.cutoffs.get("packages", ""),
        newer_than_data=newer_than_data(matrix, release, None),
    )


def met_advisories(release: Release, judgement: Judgement, matrix: Matrix) -> tuple[Open, ...]:
    """Those of a release whose conditions the request is known to meet, the gravest first."""
    request = judgement.situation.request
    if not (request.serve_args or request.model or request.model_config):
        return ()
    from envcheck.rules.planned import Planned  # noqa: PLC0415  # a plan without a model never needs it

    planned = Planned(judgement.situation, matrix, judgement.engine)
    return tuple(entry for entry in tally_of(matrix, "vllm", release.version).entries if state_of(entry, planned) is True)


def held_back(stack: Stack, judgement: Judgement, matrix: Matrix) -> bool:
    """Whether the host keeps the plan, and no wish or installation, at an older release that has critical or high advisories."""
    grave = stack.advisories is not None and stack.advisories.grave > 0
    pins = judgement.situation.request.pins
    if pins.torch or pins.python:
        return False
    return grave and judgement.subject in ("any", "environment") and stack.vllm != matrix.releases[0].raw


def advisory_notes(stack: Stack, alternatives: tuple[Stack, ...]) -> Iterator[Text]:
    """What is open in a stack that the host holds the plan at, and the first alternative of which nothing grave is known."""
    found = stack.advisories
    if found is None:
        return
    yield Text("plan.note.advisories", {"vllm": stack.vllm, "grave": found.grave, "gravest": found.gravest})
    for other in alternatives:
        if other.advisories is not None and other.advisories.grave == 0:
            name = f"{other.vllm}+{other.variant}" if other.variant else other.vllm
            yield Text("plan.note.without-advisories", {"vllm": name, "planned": stack.vllm, "date": other.advisories.as_of})
            return
