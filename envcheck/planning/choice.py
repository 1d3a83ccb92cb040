"""Which of the releases that run is planned, and why not the next one."""

from __future__ import annotations

from datetime import date

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.request import Request
from envcheck.model.text import Text
from envcheck.planning.advised import met_advisories
from envcheck.rules.build import judge_build
from envcheck.rules.check import Judgement, surveyor_of
from envcheck.rules.entries import tally_of
from envcheck.rules.regressions import Concern, concerns
from envcheck.rules.survey import Choice, asked_label

_NAMED = 3  # advisories that a sentence still names


class Chosen(msgspec.Struct, frozen=True):
    """The wheel chosen, the one that came next (None = there is no other), and in one to three sentences why."""

    choice: Choice
    runner_up: Choice | None
    reasons: tuple[Text, ...]


class _Candidate(msgspec.Struct, frozen=True):
    """A wheel that runs. `days` since its release (None = no date to reckon with), `avoided` = the regression that speaks against it.

    `met` = its critical and high advisories whose conditions the request meets, by name; looked up only where it matters.
    """

    choice: Choice
    days: int | None
    avoided: Concern | None
    met: tuple[str, ...] = ()

    @property
    def release(self) -> Release:
        return self.choice.judged.release

    @property
    def name(self) -> str:
        variant = self.choice.judged.build.variant
        return f"{self.release.raw}+{variant}" if variant else self.release.raw


def choose(candidates: tuple[Choice, ...], judgement: Judgement, matrix: Matrix, request: Request, today: date | None = None) -> Chosen:
    """Choose among wheels that run, newest first and not empty; `today` None = no age is known, and nothing counts as young.

    The newest is chosen that no regression to be avoided concerns. `stable` besides wants some age, the last patch release of its
    minor series, and no critical or high advisory that the request meets where an older release has none. Where nothing is left the
    wish is dropped, and said to be.
    """
    if request.prefer == "stable":
        found = [_candidate(one, judgement, matrix, today) for one in candidates]
        return _stable([_with_advisories(one, judgement, matrix) for one in found], request, matrix)
    sound: Choice | None = None
    looked = []
    for one in candidates:  # the newest is nearly always sound: older ones need not be looked at
        looked.append(_candidate(one, judgement, matrix, today))
        if looked[-1].avoided is None:
            sound = one
            break
    if sound is None:
        return Chosen(candidates[0], _next(candidates, 0), _kept(looked[0], request))
    place = len(looked) - 1
    if place:
        return Chosen(sound, candidates[0], (*_avoided(looked[0]), _newest(looked[-1], "choice.without")))
    after = _next(candidates, place)
    following = _candidate(after, judgement, matrix, today) if after else None
    return Chosen(sound, after, (_newest(looked[-1]), *_older(looked[-1], following, matrix)))


def candidates(judgement: Judgement, matrix: Matrix, spec: str | None = None) -> tuple[Choice, ...]:
    """The wheels to choose among, newest first: those of the index, or of the label asked for, that run with the host's own interpreter.

    Where none does with that one, those that run with another. Raises UsageError for a release that is none.
    """
    surveyor, target = surveyor_of(matrix), judgement.target
    label = asked_label(matrix, spec) if spec else ""
    releases = [release for release in matrix.matching(spec) if not release.record.yanked] if spec else surveyor.planned
    free = msgspec.structs.replace(target, python=None)
    found = []
    for release in releases:
        build = release.build(target.arch or "x86_64", label)
        judged = judge_build(free, matrix, release, build) if build else None
        if judged and not judged.errors:
            found.append(surveyor.choose(target, judged))
    return tuple(one for one in found if not one.new_python) or tuple(found)


def _next(candidates: tuple[Choice, ...], place: int) -> Choice | None:
    return candidates[place + 1] if place + 1 < len(candidates) else None


def _candidate(choice: Choice, judgement: Judgement, matrix: Matrix, today: date | None) -> _Candidate:
    release = choice.judged.release
    released = _released(release)
    days = (today - released).days if today and released else None
    found = concerns(release, judgement.situation, matrix, judgement.engine)
    return _Candidate(choice, days, next((one for one in found if one.avoided), None))


def _with_advisories(one: _Candidate, judgement: Judgement, matrix: Matrix) -> _Candidate:
    met = tuple(entry.advisory.name for entry in met_advisories(one.release, judgement, matrix) if entry.grave)
    return msgspec.structs.replace(one, met=met) if met else one


def _stable(found: list[_Candidate], request: Request, matrix: Matrix) -> Chosen:
    """The newest that has proven itself; the reasons name the newest that was passed over."""
    least = int(matrix.thresholds["release-age-days"])
    sound = [one for one in found if one.avoided is None and not _replaced(one, found)]
    aged = [one for one in sound if one.days is None or one.days >= least]
    if not aged:
        best = (sound or found)[0]
        young = Text("choice.none-aged", {"vllm": best.name, "days": best.days, "least": least})
        return Chosen(best.choice, _following(best, found), (young,) if sound else _kept(best, request))
    best = min(aged, key=lambda one: bool(one.met))  # the newest of equals, since they stand in that order
    passed = next((one for one in found if one.release.version > best.release.version), None)
    if passed is not None:
        return Chosen(best.choice, passed.choice, (*_why_passed(passed, best, found, least), _newest(best, "choice.proven")))
    older = next((one for one in found if one.release.version < best.release.version), None)
    return Chosen(best.choice, older.choice if older else None, (_newest(best, "choice.proven"), *_older(best, older, matrix)))


def _following(best: _Candidate, found: list[_Candidate]) -> Choice | None:
    return next((one.choice for one in found if one is not best), None)


def _replaced(one: _Candidate, found: list[_Candidate]) -> _Candidate | None:
    """A later patch release of the same minor series that runs here too."""
    series, version = one.release.version.release[:2], one.release.version
    return next((other for other in found if other.release.version.release[:2] == series and other.release.version > version), None)


def _why_passed(passed: _Candidate, best: _Candidate, found: list[_Candidate], least: int) -> tuple[Text, ...]:
    if passed.avoided:
        return _avoided(passed)
    if passed.days is not None and passed.days < least:
        return (Text("choice.young", {"other": passed.name, "days": passed.days, "least": least}),)
    later = _replaced(passed, found)
    if later:
        return (Text("choice.replaced", {"other": passed.name, "later": later.release.raw}),)
    ids, count = passed.met[:_NAMED], len(passed.met)
    return (Text("choice.advisories", {"other": passed.name, "ids": ids, "count": count, "vllm": best.name}),)


def _avoided(one: _Candidate) -> tuple[Text, ...]:
    """Why a release is passed over: what it breaks here, and where that was read."""
    found = one.avoided
    if found is None:
        return ()
    return (Text("choice.regression", {"other": one.name, "source": found.regression.sources[0]}), found.text)


def _kept(one: _Candidate, request: Request) -> tuple[Text, ...]:
    """A release that is planned though a regression speaks against it, as none without one is asked for or runs here."""
    found = one.avoided
    if found is None:
        return ()
    key = "choice.kept-asked" if request.vllm else "choice.kept"
    return (Text(key, {"vllm": one.name, "source": found.regression.sources[0]}), found.text)


def _newest(one: _Candidate, key: str = "choice.newest") -> Text:
    return Text(key if one.days is None else f"{key}-days", {"vllm": one.name, "date": one.release.record.released, "days": one.days})


def _older(best: _Candidate, following: _Candidate | None, matrix: Matrix) -> tuple[Text, ...]:
    """What the next older release has for and against it."""
    if following is None:
        return (Text("choice.only", {"vllm": best.name}),)
    grave, other = (tally_of(matrix, "vllm", one.release.version).grave for one in (best, following))
    newer, older = _released(best.release), _released(following.release)
    if best.release is following.release or newer is None or older is None:
        return ()
    days = (newer - older).days
    return (Text("choice.older", {"other": following.name, "days": days, "other_grave": other, "grave": grave, "vllm": best.name}),)


def _released(release: Release) -> date | None:
    try:
        return date.fromisoformat(release.record.released)
    except ValueError:
        return None
