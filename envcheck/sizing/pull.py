"""Lever after lever, in the order of relief, until a load is served: each pulled only as far as it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from envcheck.model.relief import Lever, Load
from envcheck.model.units import gib
from envcheck.sizing.budget import Outcome, RankBudget, free_bytes, noise_bytes, outcome
from envcheck.sizing.levers import Draft, less_utilization, on_ranks, smaller_batch, without_video
from envcheck.sizing.question import Question
from envcheck.sizing.ranks import tensor_ranks
from envcheck.sizing.verdict import close_call

Allowed = Callable[[Mapping[str, Any]], bool]

_FEWEST_SEQUENCES = 16
_HIGHEST_UTILIZATION = 0.95
_LITTLE = 1.05  # of what is lacking at best: a lever without which it lacks no more than this is not worth its price
_UNPAID = ("free-memory", "sampler-warmup", "cuda-graphs")  # what more utilization makes worse
_COSTLY = ("kv_cache_dtype", "enforce_eager")
ARGUMENTS: dict[Lever, str] = {
    "dtype": "dtype",
    "sequences": "max_num_seqs",
    "context": "max_model_len",
    "video": "limit_mm_per_prompt",
    "utilization": "gpu_memory_utilization",
    "batch": "max_num_batched_tokens",
    "kv-dtype": "kv_cache_dtype",
    "tensor-parallel": "tensor_parallel_size",
    "eager": "enforce_eager",
}


class State(msgspec.Struct, frozen=True):
    """A question under a load. Bytes on one rank: `need` of the load's KV cache, `missing` of the start or the load (0 = served)."""

    question: Question
    found: Outcome
    need: float
    requests: float
    missing: float
    rows_missing: int

    @property
    def served(self) -> bool:
        """Whether the server starts and holds the load."""
        return not self.missing and not self.rows_missing

    @property
    def first(self) -> RankBudget:
        """The first rank's terms."""
        return self.found.ranks[0]


def state(question: Question, load: Load, *, sure: bool = False) -> State | None:
    """How a question stands under a load; None where too much is unknown. With data parallelism each replica takes its part.

    `sure` = a close call counts as a shortage.
    """
    found = outcome(question)
    if found is None:
        return None
    if sure and found.shortage is None:
        found = msgspec.structs.replace(found, shortage=close_call(question, found))
    wanted = math.ceil(load.requests / question.settings.replicas)
    need = wanted * found.pool.request_bytes(load.context)
    held = found.pool.concurrency(found.blocks, load.context) * question.settings.replicas if found.pool.groups else math.inf
    short = found.shortage.needed - found.shortage.available if found.shortage else 0.0
    missing = max(1.0, short, need - found.kv) if found.shortage or held < load.requests else 0.0
    too_short = not question.settings.fit_context and question.settings.context < load.context
    rows = max(0, wanted - question.settings.sequences) or int(too_short)
    return State(question, found, need, held, missing, rows)


def pulled(start: Draft, load: Load, allowed: Allowed, *, sure: bool) -> Draft:
    """Lever after lever until the load is served, `sure` = and the start is no close call; without what turned out not to be needed."""
    draft = start
    for lever in _LEVERS:
        now = state(draft.question, load, sure=sure)
        if now is None or now.served:
            break
        draft = _best(draft, now, lever(draft, now, load), load, allowed, sure)
    return _needed_only(draft, start, load, sure)


def keeps_quality(arguments: Mapping[str, Any]) -> bool:
    """Whether serve arguments hold no lever that costs accuracy or speed."""
    return not any(arguments.get(name) not in (None, "auto", False) for name in _COSTLY)


def _best(draft: Draft, now: State, candidates: Iterator[Draft], load: Load, allowed: Allowed, sure: bool) -> Draft:
    """The first of a lever's candidates that serves the load, else the one that comes nearest, else the draft as it was."""
    best, least = draft, _distance(now)
    for candidate in candidates:
        then = state(candidate.question, load, sure=sure)
        if then is None or (not then.served and _distance(then) >= least) or not allowed(candidate.question.inputs.serve_args):
            continue
        if then.served:
            return candidate
        best, least = candidate, _distance(then)
    return best


def _distance(now: State) -> tuple[int, bool, float]:
    """How far from served: requests that have no row, a start that fails, then bytes."""
    return (now.rows_missing, now.found.shortage is not None, now.missing)


def _needed_only(draft: Draft, start: Draft, load: Load, sure: bool) -> Draft:
    """The draft without what is not needed, the costliest first; where the load is not served, without what brings it little nearer."""
    last = state(draft.question, load, sure=sure)
    if last is None:
        return draft
    for name in reversed(ARGUMENTS.values()):
        if name not in draft.reasons or name in start.reasons:
            continue
        gone = (name, "enable_expert_parallel") if name == "tensor_parallel_size" else (name,)
        reasons = {key: why for key, why in draft.reasons.items() if key not in gone}
        changed = draft.question.inputs.serve_args
        without = start.question.with_args(**{key: changed[key] for key in reasons})
        then = state(without, load, sure=sure)
        if then is not None and _distance(then)[:2] <= _distance(last)[:2] and then.missing <= last.missing * _LITTLE:
            draft = Draft(without, reasons)
    return draft


def free_to_set(draft: Draft, name: str) -> bool:
    """Whether nobody asked for the argument."""
    return name not in draft.question.inputs.serve_args or name in draft.reasons


def _sequences(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    """As many rows as the load has requests: more where they lack, fewer, halved step by step, where memory does."""
    rows, wanted = draft.question.settings.sequences, math.ceil(load.requests / draft.question.settings.replicas)
    if not free_to_set(draft, "max_num_seqs"):
        return
    if rows < wanted:
        yield draft.change("max_num_seqs", wanted, "sequences-needed", sequences=wanted)
        return
    least = max(wanted, _FEWEST_SEQUENCES)
    while rows > least:
        rows = max(least, rows // 2)
        yield draft.change("max_num_seqs", rows, "sequences-load", sequences=rows, requests=wanted)


def _context(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    if load.context < draft.question.settings.context and free_to_set(draft, "max_model_len"):
        yield draft.change("max_model_len", load.context, "context-load", tokens=load.context, own=draft.question.settings.context)


def _video(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    changed = without_video(draft, now.found)
    if changed is not None:
        yield changed


def _utilization(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    """Less where the start needs memory that the budget holds; else more, by hundredths, up to what is free now and stays free."""
    if not free_to_set(draft, "gpu_memory_utilization"):
        return
    shortage = now.found.shortage
    if shortage and shortage.kind in _UNPAID:
        changed = less_utilization(draft, now.found)
        if changed is not None:
            yield changed
        return
    question, total = draft.question, now.first.total
    free, _ = free_bytes(question, total)
    most = min(_HIGHEST_UTILIZATION, math.floor((free - noise_bytes(question)) / total * 100) / 100)
    for hundredths in range(math.floor(question.settings.utilization * 100 + 1e-6) + 1, math.floor(most * 100 + 1e-6) + 1):
        value = hundredths / 100
        yield draft.change(
            "gpu_memory_utilization",
            value,
            "utilization-load",
            utilization=f"{value:g}",
            free=f"{gib(free):.2f}",
            total=f"{gib(total):.2f}",
        )


def _batch(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    changed = smaller_batch(draft)
    while changed is not None and free_to_set(draft, "max_num_batched_tokens"):
        yield changed
        changed = smaller_batch(changed)


def _kv_dtype(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    if free_to_set(draft, "kv_cache_dtype") and draft.question.settings.kv_dtype == "auto":
        yield draft.change("kv_cache_dtype", "fp8", "kv-dtype")


def _ranks(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    """Powers of two that divide the model, up to the cards present."""
    question = draft.question
    if not free_to_set(draft, "tensor_parallel_size"):
        return
    most = (question.inputs.card.count or 1) // max(1, question.settings.stages * question.settings.replicas)
    for ranks, whole in tensor_ranks(question.dims, most):
        if ranks > 1:
            yield on_ranks(draft, ranks, whole)


def _eager(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    if draft.question.settings.graphs:
        yield draft.change("enforce_eager", True, "eager")


_GENTLE = (_sequences, _context, _video, _utilization, _batch)
# The gentle ones twice: what helps nothing while another check fails may help once that one passes; and again on more ranks.
_LEVERS = (*_GENTLE, *_GENTLE, _kv_dtype, _ranks, *_GENTLE, _kv_dtype, _eager)
