"""The JSON of `check --why-not` and `matrix show`; keys are only ever added within a schema version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from envcheck.model.finding import Verdict
from envcheck.render.jsonmodel import ClashOut, FindingOut
from envcheck.render.jsonout import clash_out, findings_out
from envcheck.render.undecided_text import undecided_sentence

if TYPE_CHECKING:
    from envcheck.planning.releases import ReleaseLine
    from envcheck.render.catalogue import Catalogue
    from envcheck.rules.regressions import Concern
    from envcheck.rules.why_not import ReleaseReasons, WheelReasons, WhyNot

WHY_NOT_SCHEMA = "envcheck.why-not/1"
RELEASES_SCHEMA = "envcheck.releases/1"

Runs = Literal["yes", "other-python", "no", "unknown"]


class RegressionOut(msgspec.Struct, frozen=True):
    """A regression of a release.

    `met` = whether it concerns this host and request, null = not known; `good_before` = the last release known without it, `fixed` the
    first after it, null = none known.
    """

    id: str
    severity: Literal["avoid", "note"]
    met: bool | None
    text: str
    releases: str
    good_before: str | None
    fixed: str | None
    sources: list[str]


class WheelOut(msgspec.Struct, frozen=True):
    """One wheel; `variant` "" = the package index's. `runs` `other-python` = with the interpreter `python`, not the host's own."""

    wheel: str
    variant: str
    arch: str | None
    cuda: str | None
    torch: str
    python: str
    runs: Runs
    clashes: list[ClashOut]
    undecided: list[str]


class ReleaseReasonsOut(msgspec.Struct, frozen=True):
    """One release, all its wheels for this machine."""

    release: str
    released: str
    wheels: list[WheelOut]
    regressions: list[RegressionOut]


class WhyNotOut(msgspec.Struct, frozen=True):
    """The answer of `check --why-not`.

    `more` = releases that are meant too and not listed, `remaining` = what a fresh environment does not mend.
    """

    schema: str
    asked: str
    verdict: Verdict
    releases: list[ReleaseReasonsOut]
    more: int
    remaining: list[FindingOut]
    undecided: list[str]
    matrix_date: str


class AdvisoryCount(msgspec.Struct, frozen=True):
    """Security advisories open in a release: all, and those that are critical or high."""

    open: int
    grave: int


class ReleaseOut(msgspec.Struct, frozen=True):
    """One release. `verdict` and `clashes` are those of the index's wheel, null and empty where no host is asked about.

    `others` = labels of its other wheels, `other` = the best of them that runs. `python` = the interpreters it takes, `X.Y`.
    """

    release: str
    released: str
    yanked: bool
    torch: str | None
    cuda: str | None
    engine: str | None
    python: list[str]
    others: list[str]
    verdict: Runs | None
    clashes: list[ClashOut]
    other: str | None
    advisories: AdvisoryCount
    regressions: list[RegressionOut]


class ReleasesOut(msgspec.Struct, frozen=True):
    """The answer of `matrix show`, newest release first; `arch` = the machine whose wheels are meant."""

    schema: str
    arch: str
    judged: bool
    releases: list[ReleaseOut]
    matrix_date: str


def why_not_out(found: WhyNot, catalogue: Catalogue, matrix_date: str) -> WhyNotOut:
    """The reasons with their sentences."""
    return WhyNotOut(
        schema=WHY_NOT_SCHEMA,
        asked=found.asked,
        verdict=found.verdict,
        releases=[_release(one, catalogue) for one in found.releases],
        more=found.more,
        remaining=findings_out(found.remaining, catalogue),
        undecided=[undecided_sentence(text, catalogue) for text in found.undecided],
        matrix_date=matrix_date,
    )


def _release(one: ReleaseReasons, catalogue: Catalogue) -> ReleaseReasonsOut:
    record = one.release.record
    wheels = [_wheel(wheel, one.release.raw, catalogue) for wheel in one.wheels]
    return ReleaseReasonsOut(one.release.raw, record.released, wheels, [_regression(found, catalogue) for found in one.concerns])


def _wheel(wheel: WheelReasons, release: str, catalogue: Catalogue) -> WheelOut:
    build = wheel.build
    return WheelOut(
        wheel=wheel.name,
        variant=build.variant if build else "",
        arch=build.arch if build else None,
        cuda=build.record.cuda if build else None,
        torch=wheel.torch,
        python=wheel.python,
        runs=wheel.runs,
        clashes=[clash_out(clash, catalogue, release) for clash in wheel.clashes],
        undecided=list(wheel.undecided),
    )


def _regression(found: Concern, catalogue: Catalogue) -> RegressionOut:
    record = found.regression
    sources = list(record.sources)
    return RegressionOut(
        record.id, record.severity, found.met, catalogue.text(found.text), found.releases, record.good_before, record.fixed, sources
    )


def releases_out(lines: list[ReleaseLine], arch: str, catalogue: Catalogue, matrix_date: str, *, judged: bool) -> ReleasesOut:
    """All releases with their sentences."""
    found = [
        ReleaseOut(
            release=line.release.raw,
            released=line.release.record.released,
            yanked=line.release.record.yanked,
            torch=line.torch,
            cuda=line.cuda,
            engine=line.engine,
            python=list(line.pythons),
            others=list(line.others),
            verdict=line.wheel.runs if line.wheel else None,
            clashes=[clash_out(clash, catalogue, line.release.raw) for clash in line.wheel.clashes] if line.wheel else [],
            other=line.other,
            advisories=AdvisoryCount(line.open, line.grave),
            regressions=[_regression(one, catalogue) for one in line.concerns],
        )
        for line in lines
    ]
    return ReleasesOut(RELEASES_SCHEMA, arch, judged, found, matrix_date)
