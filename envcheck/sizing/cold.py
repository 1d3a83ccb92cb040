"""The first start: what the profile run takes besides while it compiles. Bytes on one rank."""

from __future__ import annotations

import msgspec

from envcheck.model.memoryfacts import ColdStart, Runner
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.sizing.question import Question
from envcheck.sizing.rank import Rank
from envcheck.sizing.release import Rules, first


class Compiling(msgspec.Struct, frozen=True):
    """Peak of the pass that compiles; `doubtful` = what may come on top of the peak that is charged; 0 where nothing is compiled."""

    peak: float = 0.0
    doubtful: float = 0.0


def compiling(question: Question, rank: Rank) -> Compiling:
    """Kernels are tuned on stand-ins of their arguments, among them the embedding table where the compiled part begins with it.

    It shows on the first pipeline stage. `first_start` False = all is cached; None = a fresh host is cold, unless the record holds only
    where a first start is told: then it is doubtful and nothing is charged.
    """
    inputs, settings = question.inputs, question.settings
    record = cold_record(question.rules, question.runner, inputs.card.capability)
    if record is None or not settings.graphs or inputs.first_start is False or not rank.is_first:
        return Compiling()
    dims, width = question.dims, max(2, settings.dtype_bytes)
    dropped = bool(dims.family.encoder) and all(settings.limits.get(item.modality) == 0 for item in dims.family.encoder)
    inside = settings.text_only or not dims.multimodal or dropped
    table = dims.vocab / settings.tensor_ranks * dims.hidden * width if inside else 0.0
    peak = record.tables * table + record.narrow * settings.batched_tokens * dims.hidden * width
    if not record.assumed and inputs.first_start is None:
        return Compiling(0.0, peak)
    return Compiling(peak, record.pinned * table)


def cold_record(rules: Rules, runner: Runner, capability: ComputeCapability | None) -> ColdStart | None:
    """What is known of a first start with this runner on this card."""

    def here(record: ColdStart) -> bool:
        below = compute_capability(record.capability_below or "")
        return record.runner in (None, runner) and (below is None or (capability is not None and capability < below))

    return first(rules.cold_start, here)
