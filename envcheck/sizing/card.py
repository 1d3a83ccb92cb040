"""The card's memory as CUDA reports it, and what is free of it when the server starts."""

from __future__ import annotations

from envcheck.model.memoryfacts import Interconnect, MemoryFacts
from envcheck.model.units import GIB, MIB
from envcheck.sizing.inputs import Card
from envcheck.sizing.release import first

_SAME_MIB = 256  # an NVML total this close to a record's is that card


def total_bytes(card: Card, facts: MemoryFacts) -> float | None:
    """Total memory as CUDA reports it: as told, else a measured card of this name and size, else NVML's figure less what is reserved."""
    if card.total_bytes is not None:
        return card.total_bytes
    if card.nvml_bytes is None:
        return None
    if card.wsl or card.unified or card.mig:
        return card.nvml_bytes
    name = card.name.lower()
    for record in facts.cuda_totals:
        if abs(record.nvml_mib - card.nvml_bytes / MIB) <= _SAME_MIB and all(part.lower() in name for part in record.gpus):
            return record.cuda_mib * MIB
    margins = facts.margins[0]
    return max(0.0, card.nvml_bytes - margins.reserved_gib * GIB - margins.reserved_share * card.nvml_bytes)


def context_bytes(card: Card, total: float, ranks: int, facts: MemoryFacts) -> float:
    """What the CUDA context takes of an idle card, and the communicators of several ranks."""
    record = first(facts.contexts, lambda r: r.interconnect in (None, interconnect(card)) and r.wsl <= card.wsl)
    if record is None:
        return 0.0
    return (record.base_gib + (record.communicators_gib if ranks > 1 else 0.0)) * GIB + record.share * total


def interconnect(card: Card) -> Interconnect:
    """How the cards of one host reach each other; PCIe where it is not known."""
    return "nvlink" if card.nvlink else "pcie"
