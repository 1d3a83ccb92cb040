"""Memory of the server's process outside the tensor allocator that the budget is charged with. Bytes on one rank."""

from __future__ import annotations

from envcheck.model.memoryfacts import NonTorch, Runner
from envcheck.model.units import GIB
from envcheck.sizing.card import context_bytes, interconnect
from envcheck.sizing.inputs import Card
from envcheck.sizing.release import Rules
from envcheck.sizing.settings import Settings


def non_torch_record(card: Card, settings: Settings, rules: Rules, runner: Runner) -> NonTorch | None:
    """The record of communicators, library handles, modules: the one with the most ranks that are here, and of how they are linked."""
    link = interconnect(card)
    fitting = [
        record
        for record in rules.non_torch
        if record.ranks <= settings.tensor_ranks
        and record.interconnect in (None, link)
        and record.runner in (None, runner)
        and (not record.pipeline or settings.stages > 1)
    ]
    return max(fitting, key=lambda record: (record.pipeline, record.ranks, record.interconnect is not None), default=None)


def non_torch_bytes(card: Card, settings: Settings, rules: Rules, runner: Runner) -> float:
    """What that record says."""
    record = non_torch_record(card, settings, rules, runner)
    return record.gib * GIB if record else 0.0


def card_bytes(card: Card, total: float, rules: Rules) -> float:
    """Where everything in use on the card is charged: the context, and what other processes hold."""
    if rules.accounting.charges != "card":
        return 0.0
    others = max(0.0, total - card.free_bytes) if card.free_bytes is not None else 0.0
    return max(others, context_bytes(card, total, 1, rules.facts))
