"""All ways to what was asked for, least intrusive first; the first is the one that is planned."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.request import Request
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.model.ways import Way
from envcheck.planning.ways.compat import compat
from envcheck.planning.ways.context import Context, context_of
from envcheck.planning.ways.driver_images import driver_images
from envcheck.planning.ways.drivers import drivers
from envcheck.planning.ways.findings import mended, whole
from envcheck.planning.ways.gpus import gpus
from envcheck.planning.ways.hardware import hardware
from envcheck.planning.ways.images import images
from envcheck.planning.ways.prove import settled
from envcheck.planning.ways.rank import ranked, worth_it
from envcheck.planning.ways.stacks import stacks
from envcheck.rules.check import Judgement

_CURES = 4  # remedies of one fault that are worth listing


def ways_of(
    judgement: Judgement, matrix: Matrix, request: Request, stack: Stack | None, *, installed: bool = False, directory: str = "vllm-env"
) -> tuple[Way, ...]:
    """The ways for a judged host. `stack` = what the plan has chosen, `installed` = it is there already and nothing blocks."""
    context = context_of(judgement, matrix, request, directory)
    found = [way for one in _candidates(context, stack) if (way := settled(one, context)) is not None and _allowed(way, request)]
    if installed and stack is not None and judgement.verdict is not Verdict.BLOCKED:
        found.append(_nothing_to_do(stack, judgement))
    ordered = worth_it(ranked(found, matrix), matrix, mends=_CURES)
    if not ordered:
        ordered = [way for one in hardware(context) if (way := settled(one, context)) is not None or not one.after] or []
        ordered = [settled(one, context) or one for one in ordered]
    return tuple(ordered)


def _candidates(context: Context, stack: Stack | None) -> Iterator[Way]:
    yield from mended(context, stack)
    if whole(context) and not _of_packages(context):
        # The host itself is at fault: no other wheel, image or driver cures that, and the wheel that is planned comes with the cure.
        return
    yield from stacks(context)
    yield from gpus(context)
    yield from images(context)
    yield from compat(context)
    opened = list(drivers(context))
    yield from opened
    if not opened and context.best is None:
        yield from driver_images(context)


def _of_packages(context: Context) -> bool:
    """Whether what blocks is in the environment, so that a fresh one is a way."""
    from envcheck.rules.registry import ENVIRONMENT_RULES  # noqa: PLC0415  # loaded with the judge already

    own = {code for rule in ENVIRONMENT_RULES for code in rule.codes}
    found = [finding.code for finding in context.judgement.findings if finding.severity.value == "error"]
    return any(code in own for code in found)


def _allowed(way: Way, request: Request) -> bool:
    """Whether the user wants such a way at all."""
    pins = request.pins
    if way.cost.root and not pins.root:
        return False
    return pins.container or way.image is None


def _nothing_to_do(stack: Stack, judgement: Judgement) -> Way:
    return Way(
        kind="setting",
        title=Text("way.installed", {"vllm": stack.vllm}),
        stack=stack,
        proof=judgement.verdict,
        why=(Text("way.why.installed"),),
    )
