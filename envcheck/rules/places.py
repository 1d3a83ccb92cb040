"""How a GPU is named in a sentence, and its address in comparisons."""

from __future__ import annotations

from collections.abc import Iterable

from envcheck.rules.situation import GpuFact

_MOST = 8


def where(gpu: GpuFact) -> str:
    """`GPU 3`, else its name."""
    return f"GPU {gpu.index}" if gpu.index is not None else gpu.name


def wheres(gpus: Iterable[GpuFact]) -> str:
    """Several of them, each once, the first eight."""
    names = list(dict.fromkeys(where(gpu) for gpu in gpus))
    return ", ".join(names[:_MOST]) + (", …" if len(names) > _MOST else "")


def address(text: str) -> str:
    """A PCI address without the domain's leading zeros, as both NVML and `/sys` write it: `0000:3b:00.0`."""
    return text[:40].lower()[-12:]
