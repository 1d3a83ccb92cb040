"""Wheels as ways: a fresh environment, another interpreter, another build of the release, another release. None of them needs root."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from envcheck.model.host import known
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.model.ways import Cost, Pin, Way, WayKind
from envcheck.planning.install import recipes
from envcheck.planning.interpreter import lacks_headers
from envcheck.planning.mirrors import choose_mirrors
from envcheck.planning.stack import telling
from envcheck.planning.ways.context import Context, every_choice
from envcheck.planning.ways.cost import download_mib
from envcheck.planning.wishes import honours
from envcheck.rules.build import dotted
from envcheck.rules.situation import text, unsuited
from envcheck.rules.survey import Choice

# What a fresh environment does not have; further facts of packages are taken back only where they are known.
_FRESH: dict[str, Any] = {"packages": {"vllm": None}, "torch": None}
_OPTIONAL: dict[str, Any] = {"package_origins": {}, "package_problems": [], "nccl": None, "cudnn": None}


def stacks(context: Context) -> Iterator[Way]:
    """Ways to the release wanted, then, where one is wanted, to others."""
    for choice in _of_goal(context):
        yield _way(context, choice, other=False)
    if context.goal is not None:
        survey = context.surveyor.survey(context.target, variants=True)
        found = [*([survey.best] if survey.best else []), *survey.newer[:1], *telling(survey.variants)]
        wanted = set(context.matrix.matching(context.goal))
        for choice in found:
            if choice.judged.release not in wanted:
                yield _way(context, choice, other=True)


def _of_goal(context: Context) -> list[Choice]:
    """The wheels of the goal that run: the one that is planned, those for another interpreter, those of the release page."""
    pins = context.request.pins
    planned = [context.best] if context.best else []  # in place of one that a regression speaks against
    if pins.torch or pins.python:
        every = every_choice(context)
        return [*planned, *(telling(one for one in every if honours(one, pins)) or telling(every))]
    survey = context.surveyor.survey(context.target, context.goal, variants=True)
    planned = planned or ([survey.best] if survey.best else [])
    return [*planned, *survey.newer, *telling(survey.variants)]


def _way(context: Context, choice: Choice, *, other: bool) -> Way:
    stack = context.stack_of(choice)
    kind: WayKind = "release" if other else "wheel" if stack.variant else "interpreter" if _another(context, stack) else "environment"
    name = f"{stack.vllm}+{stack.variant}" if stack.variant else stack.vllm
    return Way(
        kind=kind,
        title=Text(f"way.{kind}", {"vllm": name, "python": stack.python, "cuda": stack.cuda}),
        commands=commands_of(context, stack),
        stack=stack,
        cost=Cost(
            download_mib=download_mib(stack, context.matrix), lost=(*(clash.detail for clash in stack.warnings), *_engine_lost(stack))
        ),
        after=fresh(context, stack),
        asks=name,
        breaks=_breaks(context, choice),
        why=(Text(f"way.why.{kind}", {"vllm": name, "python": stack.python}),),
    )


def _another(context: Context, stack: Stack) -> bool:
    """Whether the host's interpreter is known not to serve."""
    return stack.new_python and (context.situation.python is not None or bool(unsuited(context.situation.host)))


def _engine_lost(stack: Stack) -> Iterator[Text]:
    if stack.engine == "v0":
        yield Text("way.lost.v1", {"vllm": stack.vllm})


def _breaks(context: Context, choice: Choice) -> tuple[Pin, ...]:
    return context.breaks(choice.judged.release, dotted(choice.python))


def fresh(context: Context, stack: Stack) -> dict[str, Any]:
    """The host as a fresh environment sees it."""
    host = context.situation.host
    facts = dict(_FRESH) | {name: value for name, value in _OPTIONAL.items() if known(getattr(host, name)) is not None}
    if stack.new_python or unsuited(host) or dotted(context.situation.python or ()) != stack.python:
        facts["python"] = {"version": stack.python, "headers": True}
    elif lacks_headers(context.situation, stack):
        facts["python.headers"] = True  # uv brings an interpreter that has them
    return facts


def commands_of(context: Context, stack: Stack) -> tuple[str, ...]:
    """The lines that install a stack with uv."""
    situation, matrix = context.situation, context.matrix
    mirrors = choose_mirrors(situation, matrix, stack)
    executable = text(situation.host.python, "executable") or None
    made = recipes(stack, matrix, mirrors, context.directory, executable, managed=lacks_headers(situation, stack))
    return tuple(shlex.join(step.argv) for step in made[0].steps) if made else ()
