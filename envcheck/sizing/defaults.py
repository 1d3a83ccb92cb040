"""Defaults of a release on a GPU: sequences and batched tokens depend on the engine, the memory and the name of the card."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.model.memoryfacts import Defaults, Tier
from envcheck.model.units import GIB
from envcheck.sizing.inputs import Card


def sequences(base: Defaults, card: Card) -> int:
    """`--max-num-seqs` where it is not given."""
    return tier(base.max_num_seqs, card) or 256


def batched_tokens(base: Defaults, card: Card, context: int, chunked: bool, llm_class: bool = False) -> int:
    """`--max-num-batched-tokens` where it is not given: by GPU, or the whole context where prompts are not split."""
    tiers = (base.llm_class_batched_tokens if llm_class else []) or base.batched_tokens
    if tiers:
        found = tier(tiers, card) or base.least_batched_tokens
        return found if chunked else max(found, context)
    if chunked and base.chunked_batched_tokens:
        return base.chunked_batched_tokens
    return max(context, base.least_batched_tokens)


def tier(tiers: Sequence[Tier], card: Card) -> int | None:
    """The value of the first tier that the card belongs to."""
    total_gib = (card.total_bytes or card.nvml_bytes or 0) / GIB
    name = card.name.lower()
    for entry in tiers:
        named = not entry.named or any(part in name for part in entry.named)
        if total_gib >= entry.at_least_gib and named and not any(part in name for part in entry.not_named):
            return entry.value
    return None
