"""The tensors that a checkpoint's headers list, summed up: a model of a hundred thousand tensors has a few hundred kinds of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from envcheck.model.modelspec import StoredWeights, TensorGroup

_MOST_GROUPS = 4096  # kinds; the most varied published checkpoints have a few hundred


class Tensor(msgspec.Struct, frozen=True):
    """One tensor as a header lists it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int


def stored_weights(files: Iterable[Iterable[Tensor]]) -> StoredWeights:
    """All tensors of all files, those alike counted."""
    kinds: Counter[tuple[str, str, tuple[int, ...], int]] = Counter()
    by_dtype: Counter[str] = Counter()
    count = 0
    for tensors in files:
        count += 1
        for tensor in tensors:
            by_dtype[tensor.dtype] += tensor.size_bytes
            kinds[pattern(tensor.name), tensor.dtype, tensor.shape, tensor.size_bytes] += 1
    few = kinds if len(kinds) <= _MOST_GROUPS else {}
    groups = tuple(TensorGroup(name, dtype, shape, number, size) for (name, dtype, shape, size), number in few.items())
    return StoredWeights(sum(kinds.values()), count, dict(by_dtype), groups)


def pattern(name: str) -> str:
    """A tensor's name with its numbers taken out: `model.layers.*.mlp.experts.*.up_proj.weight`."""
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))
