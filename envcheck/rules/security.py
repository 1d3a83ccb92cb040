"""Advisories and exposure of what is judged: the installed vLLM, the release asked for, or the one that would be installed."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding
from envcheck.rules.advisories import installed_version, release_vulnerable
from envcheck.rules.exposure import server_exposed
from envcheck.rules.situation import Situation


def security(
    situation: Situation, matrix: Matrix, release: Release | None, engine: str | None, *, installed: bool, at_hand: bool, remedies: bool
) -> Iterator[Finding]:
    """Findings on security, none of them an error without a gate.

    `release` is the one judged and `engine` its engine; `installed` = it is the installed vLLM; `at_hand` = the packages of the target
    interpreter are those that would be used.
    """
    request, planned = situation.request, None
    # Where nothing was asked for and no GPU is known, the newest release is nobody's choice yet.
    if not installed and not request.vllm and not situation.capabilities:
        release = None
    vllm = installed_version(situation, matrix) if installed else None
    if not installed and release is not None:
        vllm = release.raw, release.version
    if request.serve_args or request.model or request.model_config:
        from envcheck.rules.planned import Planned  # noqa: PLC0415  # a check without a request never needs it

        planned = Planned(situation, matrix, engine)
    yield from server_exposed(situation, matrix, vllm[1] if vllm else None)
    yield from release_vulnerable(situation, matrix, vllm, release, planned, companions=at_hand, remedies=remedies)
