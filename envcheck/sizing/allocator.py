"""What tensors occupy in PyTorch's caching allocator, whose books "Model loading took" quotes.

Blocks come in steps of 512 bytes. A request of 10 MiB and more gets a segment of whole 2 MiB; what is left of it stays part of the block
unless it is more than 1 MiB, so that a matrix of 31.5 MiB counts as 32. Source: c10/cuda/CUDACachingAllocator.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable

from envcheck.model.units import MIB

_STEP = 512
_OWN_SEGMENT = 10 * MIB
_SEGMENT_STEP = 2 * MIB
_KEPT_REST = 1 * MIB


def allocated(n_bytes: float) -> float:
    """Bytes that a tensor of so many bytes counts for."""
    plain = -(-n_bytes // _STEP) * _STEP
    if n_bytes < _OWN_SEGMENT:
        return plain
    segment = -(-n_bytes // _SEGMENT_STEP) * _SEGMENT_STEP
    return segment if segment - plain <= _KEPT_REST else plain


def total(tensors: Iterable[float], loaded: bool) -> float:
    """Bytes of tensors in the allocator, or in a file."""
    return sum(map(allocated, tensors)) if loaded else sum(tensors)
