"""All that clashes between releases and a host: every wheel, not only the one nearest to running, and every reason, not only the first."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Build, Release
from envcheck.model.finding import Finding, Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.model.stack import Clash
from envcheck.model.text import Text
from envcheck.rules.build import Judged, Target, dotted, judge_build, name_of
from envcheck.rules.check import judge, surveyor_of
from envcheck.rules.engine import choose_engine, switch_of
from envcheck.rules.regressions import Concern, concerns
from envcheck.rules.situation import Situation
from envcheck.rules.survey import asked_label

# `other-python` = it runs with another interpreter than the host's; `unknown` = nothing clashes, but a deciding fact is not known.
Runs = Literal["yes", "other-python", "no", "unknown"]


class WheelReasons(msgspec.Struct, frozen=True):
    """One wheel: `judged` None = there is none for this machine, which the clash says. `python` = the `X.Y` it would go into."""

    name: str
    build: Build | None
    runs: Runs
    clashes: tuple[Clash, ...]
    undecided: tuple[str, ...] = ()
    torch: str = ""
    python: str = ""


class ReleaseReasons(msgspec.Struct, frozen=True):
    """One release: its wheels, the index's first, and the regressions that concern the host and the request, or may."""

    release: Release
    wheels: tuple[WheelReasons, ...]
    concerns: tuple[Concern, ...]


class WhyNot(msgspec.Struct, frozen=True):
    """The releases meant, newest first; `more` are meant too. `verdict` is that of what was asked.

    `remaining` = findings of the host that a fresh environment with the release would not do away with.
    """

    asked: str
    verdict: Verdict
    host: HostReport
    releases: tuple[ReleaseReasons, ...]
    more: int
    remaining: tuple[Finding, ...]
    undecided: tuple[Text, ...]


def why_not(host: HostReport, matrix: Matrix, request: Request, most: int | None) -> WhyNot:
    """All reasons, of at most `most` releases. Raises UsageError for a release that does not exist."""
    asked = request.vllm or "latest"
    meant, label = matrix.matching(asked), asked_label(matrix, asked)
    wanted = msgspec.structs.replace(request, vllm=asked)
    judgement = judge(host, matrix, wanted)
    fresh = judge(_emptied(host), matrix, wanted)
    shown = meant if most is None else meant[:most]
    releases = tuple(release_reasons(one, judgement.situation, judgement.target, matrix, label) for one in shown)
    codes = {clash.code for one in releases for wheel in one.wheels for clash in wheel.clashes}
    remaining = tuple(finding for finding in fresh.findings if finding.code not in codes)
    return WhyNot(asked, judgement.verdict, host, releases, len(meant) - len(shown), remaining, judgement.undecided)


def release_reasons(release: Release, situation: Situation, target: Target, matrix: Matrix, label: str = "") -> ReleaseReasons:
    """Every wheel of a release for this machine, or the one of a label."""
    arch = target.arch or "x86_64"
    builds = [build for build in release.builds if build.arch == arch and (not label or build.variant == label)]
    engine = _engine(release, situation, matrix)
    wheels = tuple(_wheel(release, build, target, matrix, engine) for build in builds)
    found = concerns(release, situation, matrix)
    return ReleaseReasons(release, wheels or (_no_wheel(release, arch),), found)


def _wheel(release: Release, build: Build, target: Target, matrix: Matrix, engine: tuple[Clash, ...]) -> WheelReasons:
    judged = judge_build(target, matrix, release, build)
    # That the only engine refuses the GPU adds nothing where no code of the wheel runs on it.
    too_old = any(clash.code == "gpu-too-old" for clash in judged.clashes)
    clashes = judged.clashes if too_old else (*judged.clashes, *engine)
    choice = surveyor_of(matrix).choose(target, judged)
    return WheelReasons(
        name=name_of(release, build),
        build=build,
        runs=_runs(clashes, judged),
        clashes=clashes,
        undecided=judged.undecided,
        torch=release.torch_pin or "",
        python=dotted(choice.python),
    )


def _runs(clashes: tuple[Clash, ...], judged: Judged) -> Runs:
    codes = {clash.code for clash in clashes if clash.severity == "error"}
    if codes - {"python-unsupported"}:
        return "no"
    if judged.undecided:
        return "unknown"
    return "other-python" if codes else "yes"


def _engine(release: Release, situation: Situation, matrix: Matrix) -> tuple[Clash, ...]:
    """The clash of a release whose only engine refuses a GPU, in whatever wheel."""
    found = choose_engine(matrix, release, situation.capabilities, switch_of(situation))
    if found.refused is None:
        return ()
    needed, present = str(found.needed), str(found.refused)
    params = {"vllm": release.raw, "capability": present, "needed": needed}
    return (Clash("v1-unsupported-gpu", Text("finding.v1-unsupported-gpu.detail", params), needed, present),)


def _no_wheel(release: Release, arch: str) -> WheelReasons:
    made = ", ".join(dict.fromkeys(build.arch for build in release.builds)) or "?"
    detail = Text("finding.no-wheel-for-platform.arch", {"vllm": release.raw, "arch": arch})
    return WheelReasons(release.raw, None, "no", (Clash("no-wheel-for-platform", detail, made, arch),))


def _emptied(host: HostReport) -> HostReport:
    """The host as an environment without packages of its own sees it."""
    return msgspec.structs.replace(
        host, packages={"vllm": None, "torch": None}, torch=None, cudnn=UNSET, nccl=UNSET, package_origins=UNSET, package_problems=UNSET
    )
