"""What every enumerator of ways starts from: the judged host, the request, and what runs already."""

from __future__ import annotations

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.request import Request
from envcheck.model.stack import Stack
from envcheck.model.ways import Pin
from envcheck.planning.stack import choose_stack, replaced_by, to_stack
from envcheck.planning.wishes import as_wished, in_wanted_python, python_kept, torch_kept
from envcheck.rules.build import Target
from envcheck.rules.check import Judgement, surveyor_of
from envcheck.rules.situation import Situation
from envcheck.rules.survey import Choice, Surveyor


class Context(msgspec.Struct, frozen=True):
    """A judged host and request. `goal` = the releases wanted, as a specifier; None = any.

    That is what was asked for, else the release that is installed and broken. `best` = what runs of it without changing the host.
    `directory` is the environment that a plan makes.
    """

    judgement: Judgement
    matrix: Matrix
    request: Request
    goal: str | None
    best: Choice | None
    directory: str = "vllm-env"

    @property
    def situation(self) -> Situation:
        """The parsed host."""
        return self.judgement.situation

    @property
    def target(self) -> Target:
        """What of the host decides about wheels; the interpreter is the one that the user wants, where he wants one."""
        return self.judgement.target

    @property
    def surveyor(self) -> Surveyor:
        """The surveyor that the judge uses."""
        return surveyor_of(self.matrix)

    def stack_of(self, choice: Choice) -> Stack:
        """A wheel as the plan holds it."""
        return to_stack(choice, self.judgement, self.matrix)

    def breaks(self, release: Release, python: str | None = None) -> tuple[Pin, ...]:
        """The wishes that a release, in an interpreter `X.Y`, does not honour."""
        pins, broken = self.request.pins, list[Pin]()
        if self.request.vllm and release not in self.matrix.matching(self.request.vllm):
            broken.append("vllm")
        if pins.torch and not torch_kept(pins.torch, release):
            broken.append("torch")
        if pins.python and python and not python_kept(pins.python, python):
            broken.append("python")
        return tuple(broken)


def context_of(judgement: Judgement, matrix: Matrix, request: Request, directory: str = "vllm-env") -> Context:
    """The context of a judgement whose wheel is yet to be chosen."""
    choice = choose_stack(judgement, matrix, request, explain=False)
    return context_with(choice.best, judgement, matrix, request, directory)


def context_with(best: Choice | None, judgement: Judgement, matrix: Matrix, request: Request, directory: str) -> Context:
    """The context of a judgement; `best` = the wheel that is planned, None where none of those wanted runs."""
    goal = request.vllm or None
    if goal is None and judgement.subject == "installed":
        goal = replaced_by(judgement)
    return Context(in_wanted_python(judgement), matrix, request, goal, best, directory)


def every_choice(context: Context) -> list[Choice]:
    """All wheels of the goal's releases, those of the index before the others of a release, that run here; newest release first."""
    from envcheck.rules.build import judge_build  # noqa: PLC0415  # only wishes beyond a release take the long way

    matrix, target = context.matrix, context.target
    free = msgspec.structs.replace(target, python=None)
    releases = matrix.matching(context.goal) if context.goal else context.surveyor.planned
    found = []
    for release in releases:
        for build in release.builds:
            if build.arch == (target.arch or "x86_64"):
                judged = judge_build(free, matrix, release, build)
                if not judged.errors:
                    found.append(as_wished(context.surveyor.choose(target, judged), context.request.pins))
    return found
