"""Some of the GPUs as a way: where cards of several generations stand together, and what is wanted serves only a part of them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.model.text import Text
from envcheck.model.versions import ComputeCapability
from envcheck.model.ways import Cost, Way
from envcheck.planning.ways.context import Context
from envcheck.planning.ways.cost import download_mib
from envcheck.planning.ways.stacks import commands_of, fresh
from envcheck.rules.situation import only_visible


def gpus(context: Context) -> Iterator[Way]:
    """The GPUs of one compute capability, or of it and all newer ones, where what is wanted runs on these and not on all."""
    target = context.target
    if len(target.capabilities) < 2:
        return
    seen: set[tuple[int, ...]] = set()
    for lowest in range(1, len(target.capabilities)):
        yield from _those(context, target.capabilities[lowest:], seen)
    for capability in target.capabilities:
        yield from _those(context, (capability,), seen)


def _those(context: Context, capabilities: tuple[ComputeCapability, ...], seen: set[tuple[int, ...]]) -> Iterator[Way]:
    usable = context.situation.usable_gpus
    places = tuple(place for place, gpu in enumerate(usable) if gpu.capability in capabilities)
    chosen = tuple(usable[place] for place in places)
    if not chosen or places in seen:
        return
    seen.add(places)
    survey = context.surveyor.survey(msgspec.structs.replace(context.target, capabilities=capabilities), context.goal)
    if survey.best is None:
        return
    release, unused = survey.best.judged.release, len(usable) - len(chosen)
    stack = context.stack_of(survey.best)
    setting = only_visible(context.situation, chosen)
    shown = dict(word.partition("=")[::2] for word in setting.removeprefix("export ").split())
    names = ", ".join(dict.fromkeys(gpu.name for gpu in chosen))
    yield Way(
        kind="interpreter" if stack.new_python else "environment",
        title=Text("way.gpus", {"names": names, "vllm": release.raw, "count": len(chosen)}),
        commands=(setting, *commands_of(context, stack)),
        stack=stack,
        cost=Cost(
            download_mib=download_mib(stack, context.matrix),
            lost=(Text("way.lost.gpus", {"count": unused}), *(clash.detail for clash in stack.warnings)),
        ),
        after=fresh(context, stack) | {f"environment.{name}": value for name, value in shown.items()},
        asks=release.raw,
        breaks=context.breaks(release, stack.python),
        why=(Text("way.why.gpus", {"names": names}),),
    )
