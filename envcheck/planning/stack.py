"""Which wheel to install: the newest that runs, what else runs, and what would run where none of the index does."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.request import Request
from envcheck.model.stack import Clash, Stack
from envcheck.model.text import Text
from envcheck.planning.advised import advised
from envcheck.planning.wishes import as_wished, honours, in_wanted_python, torch_kept
from envcheck.rules.build import Judged, dotted
from envcheck.rules.check import Judgement, surveyor_of
from envcheck.rules.engine import choose_engine, switch_of
from envcheck.rules.survey import Choice, Survey

if TYPE_CHECKING:
    from envcheck.model.ways import Way

_UNKNOWN = (0, 0)  # an interpreter whose version is not known
SHOWN = 3  # alternatives and ways out that a person still reads


class StackChoice(msgspec.Struct, frozen=True):
    """`stack` runs here; `alternatives` too; `ways_out` would run where `stack` is None; `not_possible` maps releases to their clash.

    `installed` = the stack is there already, so that there is nothing to install. `best` = the chosen wheel, `reasons` why it and not the
    next; `ways` = all ways, once they are looked for.
    """

    stack: Stack | None
    alternatives: tuple[Stack, ...]
    ways_out: tuple[Stack, ...]
    not_possible: dict[str, tuple[Clash, ...]]
    installed: bool
    best: Choice | None = None
    reasons: tuple[Text, ...] = ()
    ways: tuple[Way, ...] | None = None

    @property
    def wanted(self) -> Stack | None:
        """The stack that a plan installs: what runs here, else what the first way leads to; None where that is an image."""
        if self.stack is not None or self.ways is None:
            return self.stack or (self.ways_out[0] if self.ways_out else None)
        return self.ways[0].stack if self.ways and self.ways[0].kind != "hardware" else None

    @property
    def release(self) -> str | None:
        """The release that a plan leads to."""
        image = self.ways[0].image if self.ways and self.stack is None else None
        return image.release if image else self.wanted.vllm if self.wanted else None


def choose_stack(judgement: Judgement, matrix: Matrix, request: Request, today: date | None = None, *, explain: bool = True) -> StackChoice:
    """The stack for a judged host and request; `today` is what the age of releases is reckoned from, `explain` = with the reasons."""
    if judgement.verdict is Verdict.BLOCKED and (not judgement.target.capabilities or _needs_own_build(judgement)):
        return StackChoice(None, (), (), {}, False)
    if judgement.subject == "installed" and judgement.judged and judgement.verdict is not Verdict.BLOCKED:
        present = _installed(judgement, matrix)
        if present:
            return StackChoice(present, (), (), {}, True)
    judgement, surveyor = in_wanted_python(judgement), surveyor_of(matrix)
    # A broken installation is replaced by the same release in a fresh environment, where that runs.
    spec = request.vllm if judgement.subject in ("installed", "requested") else None
    if judgement.subject == "installed":
        spec = replaced_by(judgement) or request.vllm
    survey = surveyor.survey(judgement.target, spec)
    if survey.best is None or survey.best.judged.release is not matrix.releases[0]:  # else no wheel of the release page is newer
        survey = surveyor.survey(judgement.target, spec, variants=True)
    general = survey if spec is None or survey.best else surveyor.survey(judgement.target, variants=True)
    chosen = _chosen(judgement, matrix, request, survey.best, spec, today, explain)
    return _from_survey(judgement, matrix, survey, general, chosen)


def _chosen(
    judgement: Judgement, matrix: Matrix, request: Request, best: Choice | None, spec: str | None, today: date | None, explain: bool
) -> tuple[Choice, tuple[Text, ...]] | None:
    """The wheel to plan among those that run, and why; the newest is taken unasked unless something speaks against it."""
    pins = request.pins
    if best is None:
        return None
    wished = pins.torch or pins.python or request.prefer != "newest"
    if not explain and not wished and not _avoided(best, judgement, matrix):
        return best, ()
    from envcheck.planning.choice import candidates, choose  # noqa: PLC0415  # not where the newest is taken without a word

    found = candidates(judgement, matrix, spec) or (best,)
    if pins.torch or pins.python:
        kept = tuple(one for one in (as_wished(one, pins) for one in found) if honours(one, pins))
        # Why it is this one is the wish; that it is the newest would not be true.
        return (choose(kept, judgement, matrix, request, today).choice, ()) if kept else None
    chosen = choose(found, judgement, matrix, request, today)
    return chosen.choice, chosen.reasons


def _avoided(best: Choice, judgement: Judgement, matrix: Matrix) -> bool:
    """Whether a regression that concerns the request speaks against a release."""
    release = best.judged.release
    if not matrix.may_be_avoided(release.version):
        return False
    from envcheck.rules.regressions import concerns  # noqa: PLC0415  # few releases have any

    return any(one.avoided for one in concerns(release, judgement.situation, matrix, judgement.engine))


def replaced_by(judgement: Judgement) -> str | None:
    """The release that takes the place of what is installed: the same, unless its torch is not the one wanted; None = any."""
    release, wanted = judgement.release, judgement.situation.request.pins.torch
    return release.raw if release and (not wanted or torch_kept(wanted, release)) else None


def _needs_own_build(judgement: Judgement) -> bool:
    """Whether the board takes no wheel of the project at all, though it holds code of the GPU's compute capability."""
    return any(finding.code == "jetson-needs-special-build" for finding in judgement.findings)


def _from_survey(
    judgement: Judgement, matrix: Matrix, survey: Survey, general: Survey, chosen: tuple[Choice, tuple[Text, ...]] | None
) -> StackChoice:
    def stack(choice: Choice) -> Stack:
        return to_stack(choice, judgement, matrix)

    def safer_first(choices: list[Choice]) -> list[Choice]:
        """Those without an open critical or high advisory before the others, each in the order given."""
        return sorted(choices, key=lambda choice: advised(choice.judged.release, judgement, matrix).grave > 0)

    best, reasons = chosen or (None, ())
    floor = best.judged.release.version if best else None
    newer = telling([choice for choice in survey.variants if floor is None or choice.judged.release.version > floor])
    if best:
        passed = [survey.best] if survey.best and survey.best.judged.release is not best.judged.release else []
        others = (*passed, *safer_first(list(survey.newer)), *safer_first(newer))
        return StackChoice(stack(best), tuple(map(stack, others[:SHOWN])), (), _held_back(survey), False, best, reasons)
    ways = telling(survey.variants)[:SHOWN]
    if general is not survey:
        ways += [general.best] if general.best else list(general.variants[:1])
    clashes = {survey.closest.release.raw: survey.closest.clashes} if survey.closest else {}
    return StackChoice(None, (), tuple(map(stack, ways)), clashes, False)


def telling(choices: Iterable[Choice]) -> list[Choice]:
    """Of each CUDA variant the newest wheel, and the newest that needs no other interpreter; the rest says nothing new."""
    seen: set[tuple[str, bool]] = set()
    found = []
    for choice in choices:
        key = (choice.judged.build.variant, choice.new_python)
        if key in seen or (choice.judged.build.variant, False) in seen:
            continue
        seen.add(key)
        found.append(choice)
    return found


def _held_back(survey: Survey) -> dict[str, tuple[Clash, ...]]:
    return {
        held.newest.raw if held.newest is held.oldest else f"{held.oldest.raw} – {held.newest.raw}": (held.clash,)
        for held in survey.held_back
    }


def _installed(judgement: Judgement, matrix: Matrix) -> Stack | None:
    """What is installed; None where it goes against a wish, so that something else is to be planned."""
    judged, pins = judgement.judged, judgement.situation.request.pins
    python = judgement.situation.python or _UNKNOWN
    if judged is None or not honours(
        Choice(judged, python, False), pins if python != _UNKNOWN else msgspec.structs.replace(pins, python=None)
    ):
        return None
    return to_stack(Choice(judged, python, False), judgement, matrix)


def as_installed(choice: StackChoice, judgement: Judgement, matrix: Matrix) -> StackChoice:
    """The choice of what is installed, for a host that keeps it from running only by what can be mended beside it."""
    present = _installed(judgement, matrix) if judgement.subject == "installed" else None
    return choice if present is None else StackChoice(present, (), (), {}, True, choice.best)


def to_stack(choice: Choice, judgement: Judgement, matrix: Matrix) -> Stack:
    """A chosen wheel as the plan holds it."""
    judged = choice.judged
    build, release = judged.build, judged.release
    situation = judgement.situation
    engine = choose_engine(matrix, release, judgement.target.capabilities, switch_of(situation), situation.request.serve_args).engine
    floor = matrix.cuda_floor(build.cuda_major) if build.cuda_major else None
    url = build.record.url
    tag = f"cp{choice.python[0]}{choice.python[1]}"
    return Stack(
        vllm=release.raw,
        variant=build.variant,
        arch=build.arch,
        cuda=dotted(build.cuda or ()),
        cuda_major=build.cuda_major or 0,
        torch=release.torch_pin or "",
        torch_variant=_torch_variant(judged),
        python=dotted(choice.python),
        new_python=choice.new_python or _replaces_python(judgement, choice),
        engine=engine or "",
        url=url.replace("{python}", tag) if url else None,
        warnings=judged.warnings,
        driver_needed=floor.raw if floor else None,
        advisories=advised(release, judgement, matrix),
    )


def _replaces_python(judgement: Judgement, choice: Choice) -> bool:
    """Whether the interpreter that the user wants is another than the host's."""
    return bool(judgement.situation.request.pins.python) and judgement.situation.python != choice.python


def _torch_variant(judged: Judged) -> str:
    return judged.torch.variant if judged.torch else (judged.build.record.torch_variant or "")
