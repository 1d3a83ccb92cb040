"""What a change of release does to the memory of a model: each term before and after, and what each changed default does to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from envcheck.matrix.release import Release
from envcheck.model.budget import PerGpu, SizeResult
from envcheck.planning.upgrade import Upgrade

Size = Callable[[Release, Mapping[str, Any]], SizeResult]
_SIZED = ("gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens")  # defaults that memory hangs on, each an argument too


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of the budget of one GPU, GiB; None = not known."""

    name: str
    before: float | None
    after: float | None


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """A changed default; `keep` = the argument that keeps the old one.

    `kv_gib` = what the change adds to the memory for the KV cache of one GPU, GiB.
    """

    setting: str
    before: str
    after: str
    kv_gib: float
    keep: str


class MemoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """`verdict` and `tokens` of the KV cache before and after."""

    verdict: tuple[str, str]
    tokens: tuple[float | None, float | None]
    terms: tuple[Term, ...]
    effects: tuple[Effect, ...]


def memory_change(
    found: Upgrade, size: Size, old: Release, new: Release, before_args: Mapping[str, Any], after_args: Mapping[str, Any]
) -> MemoryChange:
    """The memory of a model on both releases, `after_args` being the arguments as the new one takes them."""
    before, after = size(old, before_args), size(new, after_args)
    return MemoryChange(
        verdict=(before.verdict, after.verdict),
        tokens=(before.kv.tokens, after.kv.tokens),
        terms=tuple(_terms(before.per_gpu_gib, after.per_gpu_gib)),
        effects=tuple(_effects(found, size, new, after, after_args)),
    )


def _terms(before: PerGpu, after: PerGpu) -> Iterator[Term]:
    for name in PerGpu.__struct_fields__:
        yield Term(name=name, before=getattr(before, name), after=getattr(after, name))


def _effects(found: Upgrade, size: Size, new: Release, after: SizeResult, arguments: Mapping[str, Any]) -> Iterator[Effect]:
    """The new release with one default as the old one had it, against its own."""
    for change in found.defaults:
        if change.what not in _SIZED or change.what in arguments or change.before is None or change.after is None:
            continue
        kept = float(change.before) if "." in change.before else int(change.before)
        other = size(new, {**arguments, change.what: kept}).per_gpu_gib.kv_cache
        if other is None or after.per_gpu_gib.kv_cache is None:
            continue
        keep = f"--{change.what.replace('_', '-')} {change.before}"
        kv_gib = round(after.per_gpu_gib.kv_cache - other, 3)
        yield Effect(setting=change.what, before=change.before, after=change.after, kv_gib=kv_gib, keep=keep)
