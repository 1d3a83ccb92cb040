"""All ways to what was asked for, least intrusive first; the first is the one that is planned."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Severity, Verdict
from envcheck.model.request import Pins, Request
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.model.ways import Cost, Way
from envcheck.planning.stack import StackChoice, as_installed, choose_stack
from envcheck.planning.ways.context import Context, context_with
from envcheck.planning.ways.cost import with_costs
from envcheck.planning.ways.drivers import drivers
from envcheck.planning.ways.findings import mended, whole
from envcheck.planning.ways.gpus import gpus
from envcheck.planning.ways.hardware import forbidden, hardware, nothing_known
from envcheck.planning.ways.prove import eased, settled
from envcheck.planning.ways.rank import ranked, worth_it
from envcheck.planning.ways.stacks import stacks
from envcheck.rules.check import Judgement

_CURES = 4  # remedies of one fault that are worth listing
_WITHOUT_ROOT = ("environment", "interpreter", "wheel", "release")
_SHOWN = 3


def with_ways(choice: StackChoice, judgement: Judgement, matrix: Matrix, request: Request, directory: str) -> StackChoice:
    """The choice with all ways. Where nothing runs, its ways out are those of them that need no root, in the same order."""
    ways = ways_of(judgement, matrix, request, choice, directory)
    if not choice.installed and _keeps_installed(ways[0], context_with(choice.best, judgement, matrix, request, directory)):
        choice = as_installed(choice, judgement, matrix)
        ways = ways_of(judgement, matrix, request, choice, directory)
    if choice.stack is not None:
        # What would run once the host is mended is no plan where nothing mends it, or a wish rules the mending out.
        if ways[0].kind == "hardware":
            return msgspec.structs.replace(choice, ways=ways, stack=None, alternatives=(), reasons=())
        return msgspec.structs.replace(choice, ways=ways)
    out: list[Stack] = []
    for way in ways:
        if way.stack is not None and way.kind in _WITHOUT_ROOT and way.stack not in out:
            out.append(way.stack)
    return msgspec.structs.replace(choice, ways=ways, ways_out=tuple(out[:_SHOWN]))


def ways_of(
    judgement: Judgement, matrix: Matrix, request: Request, choice: StackChoice | None = None, directory: str = "vllm-env"
) -> tuple[Way, ...]:
    """The ways for a judged host and what has been chosen for it, never none."""
    chosen = choice or choose_stack(judgement, matrix, request)
    context = context_with(chosen.best, judgement, matrix, request, directory)
    found = list(_settled(context, chosen))
    if chosen.installed and chosen.stack is not None and judgement.verdict is not Verdict.BLOCKED:
        found.append(_nothing_to_do(chosen.stack, judgement))
    if not found and context.goal is not None:
        # Nothing leads to what is wanted: then to whatever else runs.
        free = msgspec.structs.replace(context, goal=None, request=msgspec.structs.replace(request, vllm=None))
        found = [_giving_up(way, request) for way in _settled(free, chosen) if way.stack or way.image]
    wanted = context.goal is not None and chosen.stack is None  # else it runs already, and what changes more must lead further
    ordered = worth_it(ranked(found, matrix), matrix, mends=_CURES, wanted=wanted)
    return tuple([with_costs(way, context, installed=chosen.installed) for way in ordered] or (_last_resort(context, chosen),))


def _settled(context: Context, choice: StackChoice) -> Iterator[Way]:
    """The ways that lead somewhere and that the user wants at all."""
    for one in _candidates(context, choice):
        way = settled(one, context) if _allowed(one, context.request) else None
        if way is not None and _allowed(way, context.request):
            yield way


def _giving_up(way: Way, request: Request) -> Way:
    """A way that does not lead to the release asked for."""
    if not request.vllm or "vllm" in way.breaks:
        return way
    return msgspec.structs.replace(way, breaks=("vllm", *way.breaks))


def _last_resort(context: Context, choice: StackChoice) -> Way:
    """The smallest change of hardware, proved where that can be; where only a wish is in the way, that it is."""
    pins = context.request.pins
    free = msgspec.structs.replace(context, request=msgspec.structs.replace(context.request, pins=Pins()))
    if pins != free.request.pins and next(_settled(free, choice), None) is not None:
        return forbidden(pins)
    for way in hardware(context):
        proved = settled(way, context) if way.after else way
        if proved is not None and _allowed(proved, context.request):
            return proved
    return nothing_known()


def _candidates(context: Context, choice: StackChoice) -> Iterator[Way]:
    cures = list(mended(context, choice.stack, warned=choice.installed))
    if _of_the_host(context):
        # No other wheel or image cures that, and the wheel that is planned comes with the cure.
        opened, parts = list(drivers(context)), list(gpus(context))
        # Where the choice of GPUs comes with what to install for them, the setting alone says less.
        told = bool(parts) and context.judgement.subject != "installed"
        bare = [way for way in cures if way.kind == "setting" and way.stack is None] if told else []
        yield from (way for way in cures if way not in bare and (not opened or way.kind != "driver" or way.after))
        yield from (*parts, *opened)
        return
    from envcheck.planning.ways.compat import compat  # noqa: PLC0415  # a host that is at fault itself needs none of these
    from envcheck.planning.ways.driver_images import driver_images  # noqa: PLC0415
    from envcheck.planning.ways.images import images  # noqa: PLC0415

    yield from (way for way in cures if way.kind not in ("environment", "release"))  # which stand below in full
    yield from stacks(context)
    yield from gpus(context)
    yield from images(context)
    yield from compat(context)
    opened = list(drivers(context))
    yield from opened
    if not opened and context.best is None:
        yield from driver_images(context)


def _keeps_installed(way: Way, context: Context) -> bool:
    """Whether a way mends the host, so that what is installed runs afterwards."""
    mends = way.title.key.startswith("remedy.") and way.kind in ("setting", "service", "reboot")
    return mends and context.judgement.subject == "installed" and _of_the_host(context)


def _of_the_host(context: Context) -> bool:
    """Whether nothing blocks but the host itself."""
    return whole(context) and not _of_packages(context)


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
        first=tuple(eased(judgement.findings)),
        cost=Cost(lost=tuple(finding.detail for finding in judgement.findings if finding.severity is Severity.WARNING)),
        proof=judgement.verdict,
        why=(Text("way.why.installed"),),
    )
