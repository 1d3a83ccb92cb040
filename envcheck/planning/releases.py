"""All releases in a line each: what each is made of, and what one host makes of it."""

from __future__ import annotations

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.build import dotted
from envcheck.rules.check import target_of
from envcheck.rules.entries import tally_of
from envcheck.rules.regressions import Concern
from envcheck.rules.situation import Situation, read_situation
from envcheck.rules.why_not import ReleaseReasons, WheelReasons, release_reasons


class ReleaseLine(msgspec.Struct, frozen=True):
    """One release. `torch`, `cuda`, `engine` are those of the index's wheel, None = not known; `others` = labels of other wheels.

    `wheel` = the index's wheel against the host, None where no host is asked about, or there is no such wheel; `other` = the label of the
    wheel with the newest CUDA that runs there, where the index's does not. `open` and `grave` count advisories.
    """

    release: Release
    torch: str | None
    cuda: str | None
    engine: str | None
    pythons: tuple[str, ...]
    others: tuple[str, ...]
    wheel: WheelReasons | None
    other: str | None
    open: int
    grave: int
    concerns: tuple[Concern, ...]


def release_lines(matrix: Matrix, host: HostReport | None, spec: str | None, arch: str = "x86_64") -> tuple[str, list[ReleaseLine]]:
    """The machine meant and its releases, newest first. Raises UsageError for releases that do not exist."""
    situation = read_situation(host or HostReport(), matrix, Request())
    judged = host is not None
    machine = (situation.arch if judged else None) or arch
    releases = matrix.matching(spec) if spec else matrix.releases
    return machine, [_line(release, machine, situation, matrix, judged=judged) for release in releases]


def _line(release: Release, arch: str, situation: Situation, matrix: Matrix, *, judged: bool) -> ReleaseLine:
    build = release.build(arch)
    tally, entry = tally_of(matrix, "vllm", release.version), matrix.engine(release)
    reasons = release_reasons(release, situation, target_of(situation), matrix)
    wheel = reasons.wheels[0] if judged else None
    minors = [minor for minor in release.python_minors if not release.built_for or minor in release.built_for] or release.python_minors
    return ReleaseLine(
        release=release,
        torch=release.torch_pin,
        cuda=build.record.cuda if build else None,
        engine=entry.default if entry else None,
        pythons=tuple(dotted(minor) for minor in minors),
        others=tuple(other.variant for other in release.builds if other.variant and other.arch == arch),
        wheel=wheel,
        other=_best_other(reasons) if wheel and wheel.runs == "no" else None,
        open=tally.open,
        grave=tally.grave,
        concerns=reasons.concerns,
    )


def _best_other(reasons: ReleaseReasons) -> str | None:
    """The label of the wheel with the newest CUDA that runs, with the host's own interpreter before another."""
    running = [wheel for wheel in reasons.wheels if wheel.build and wheel.build.variant and wheel.runs in ("yes", "other-python")]
    best = max(running, key=lambda wheel: (wheel.runs == "yes", wheel.build.cuda or () if wheel.build else ()), default=None)
    return best.build.variant if best and best.build else None
