"""Host memory that a release insists on: pinned swap space for the KV cache."""

from __future__ import annotations

from envcheck.model.units import GIB
from envcheck.sizing.question import Question


def swap_shortage(question: Question) -> tuple[float, float] | None:
    """(needed, available) bytes where swap space for all ranks exceeds what the release accepts; None where all is well."""
    ram, base = question.inputs.ram_bytes, question.rules.accounting.swap_gib
    if ram is None or base is None:
        return None
    swap = question.settings.swap_gib if "swap_space" in question.inputs.serve_args else base
    needed = swap * GIB * question.settings.tensor_ranks
    most = ram * question.rules.facts.margins[0].swap_share
    return (needed, most) if needed > most else None
