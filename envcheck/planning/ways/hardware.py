"""The smallest change of hardware that makes a request run, for hosts where nothing else does."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.matrix.records import GpuModel
from envcheck.model.request import Pins
from envcheck.model.text import Text
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.model.ways import Way
from envcheck.planning.ways.context import Context
from envcheck.planning.ways.root import asked_as, opened
from envcheck.planning.ways.stacks import fresh
from envcheck.rules.survey import Choice

_KINDS = ("data-center", "workstation", "consumer")


def hardware(context: Context) -> Iterator[Way]:
    """A GPU of each generation above that runs what is wanted with the driver at hand, the nearest first."""
    present = max(context.target.capabilities, default=None)
    for capability, models in _generations(context):
        if present is not None and capability <= present:
            continue
        target = msgspec.structs.replace(context.target, capabilities=(capability,))
        best = opened(context, target)
        if best is not None:
            yield _way(context, capability, models[0], best)


def nothing_known() -> Way:
    """That nothing on record helps."""
    return Way(kind="hardware", title=Text("way.hardware.none"), why=(Text("way.why.hardware.none"),))


def forbidden(pins: Pins) -> Way:
    """That there are ways, but none that keeps to what is wanted; the options that want it are named."""
    given = (
        (f"--torch '{pins.torch}'", pins.torch),
        (f"--with-python {pins.python}", pins.python),
        ("--no-root", not pins.root),
        ("--no-container", not pins.container),
    )
    options = ", ".join(f"`{option}`" for option, wanted in given if wanted)
    return Way(kind="hardware", title=Text("way.wishes", {"options": options}), why=(Text("way.why.wishes"),))


def _generations(context: Context) -> list[tuple[ComputeCapability, list[GpuModel]]]:
    """Discrete GPUs by compute capability, ascending, those of data centers first."""
    found: dict[ComputeCapability, list[GpuModel]] = {}
    for model in context.matrix.gpus:
        capability = compute_capability(model.compute_capability)
        if capability and capability not in context.matrix.integrated and model.kind in _KINDS and model.memory_mib:
            found.setdefault(capability, []).append(model)
    for models in found.values():
        models.sort(key=lambda model: (_KINDS.index(model.kind), -(model.memory_mib or 0), model.name))
    return sorted(found.items())


def _way(context: Context, capability: ComputeCapability, model: GpuModel, best: Choice) -> Way:
    stack, name = context.stack_of(best), asked_as(best)
    gpu = {"index": 0, "name": model.name, "compute_capability": str(capability), "memory_mib": model.memory_mib}
    return Way(
        kind="hardware",
        title=Text("way.hardware", {"capability": str(capability), "name": model.name, "vllm": name}),
        stack=stack,
        after=fresh(context, stack) | {"gpus": [gpu], "accelerators": None},
        asks=name,
        breaks=context.breaks(best.judged.release, stack.python),
        why=(Text("way.why.hardware", {"capability": str(capability)}),),
    )
