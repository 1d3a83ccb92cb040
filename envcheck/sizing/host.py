"""Host memory: pinned swap space that a release insists on, and what is moved there from the GPUs."""

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


def offloaded_bytes(question: Question) -> float:
    """Host memory that is taken outright: weights moved there by every GPU, and the KV cache's second tier, of all ranks together.

    Sources: `--cpu-offload-gb` (GiB a GPU), `--kv-offloading-size` (GiB of all ranks, 0.11.1 and later).
    """
    settings = question.settings
    return (settings.offload_gib * settings.gpus + settings.kv_offload_gib) * GIB


def host_shortage(question: Question) -> tuple[float, float] | None:
    """(needed, available) bytes where host memory is too small for either; None where all is well or the host's memory is not known."""
    swap, ram = swap_shortage(question), question.inputs.ram_bytes
    if swap is not None or ram is None:
        return swap
    needed = offloaded_bytes(question)
    return (needed, ram) if needed > ram else None
