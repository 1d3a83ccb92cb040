"""The inverse problem: the settings that serve a stated load, with what each frees.

Levers in the order of relief, from what costs the load nothing to what costs speed: sequences, context, no videos, utilization, a smaller
batch, a narrower KV cache, more ranks, no CUDA graphs. Each is pulled only as far as it takes; what turns out not to be needed, since a
later one does it alone, is taken back, the costliest first. Arguments that were asked for stay.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from envcheck.model.relief import Lever, Load, Relief, ReliefStep
from envcheck.model.text import Text
from envcheck.model.units import GIB, gib
from envcheck.sizing.budget import Outcome, RankBudget, free_bytes, noise_bytes, outcome
from envcheck.sizing.interval import kv_interval
from envcheck.sizing.question import Question
from envcheck.sizing.suggest import Draft, finished, less_utilization, smaller_batch, suggestion, with_dtype, without_video

Allowed = Callable[[Mapping[str, Any]], bool]

_FEWEST_SEQUENCES = 16
_HIGHEST_UTILIZATION = 0.95
_LITTLE = 1.05  # of what is lacking at best: a lever without which it lacks no more than this is not worth its price
_WORTH_GIB = 0.01
_UNPAID = ("free-memory", "sampler-warmup", "cuda-graphs")  # what more utilization makes worse
_ARGUMENTS: dict[Lever, str] = {
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


def state(question: Question, load: Load) -> State | None:
    """How a question stands under a load; None where too much is unknown. With data parallelism each replica takes its part."""
    found = outcome(question)
    if found is None:
        return None
    wanted = math.ceil(load.requests / question.settings.replicas)
    need = wanted * found.pool.request_bytes(load.context)
    held = found.pool.concurrency(found.blocks, load.context) * question.settings.replicas if found.pool.groups else math.inf
    short = found.shortage.needed - found.shortage.available if found.shortage else 0.0
    missing = max(1.0, short, need - found.kv) if found.shortage or held < load.requests else 0.0
    too_short = not question.settings.fit_context and question.settings.context < load.context
    rows = max(0, wanted - question.settings.sequences) or int(too_short)
    return State(question, found, need, held, missing, rows)


def relieve(question: Question, load: Load, allowed: Allowed = lambda _: True) -> Relief | None:
    """The settings that serve a load best, or come nearest; None where too much is unknown.

    `allowed` = whether release and GPU take these serve arguments.
    """
    asked = state(question, load)
    if asked is None:
        return None
    drafts = _pulled(with_dtype(Draft(question, {})), load, allowed)
    kept = _needed_only(drafts, question, load)
    last = state(kept.question, load) or asked
    chosen = finished(kept) if last.found.shortage is None else suggestion(question)
    steps = _steps(question, kept, load)
    if last.found.shortage is not None and chosen.serve_args:
        last = state(question.with_args(**chosen.serve_args), load) or last
    held = last.requests if math.isfinite(last.requests) else float(load.requests)
    return Relief(load, asked.served, last.served, round(held, 2), _missing(last), steps, chosen.serve_args, chosen.why, _held(last, load))


def _held(now: State, load: Load) -> tuple[float, float] | None:
    """Fewest and most requests of the load's context that the KV cache holds at once, by its interval; None where it keeps nothing."""
    pool, replicas = now.found.pool, now.question.settings.replicas
    if not pool.groups or now.found.shortage or now.question.settings.blocks:
        return None
    low, high = (pool.concurrency(pool.blocks(bound), load.context) * replicas for bound in kv_interval(now.question, now.first))
    return round(low, 2), round(high, 2)


def _missing(now: State) -> float:
    return round(gib(now.missing), 2) if now.missing >= 0.005 * GIB else 0.01 if now.missing else 0.0


def _pulled(draft: Draft, load: Load, allowed: Allowed) -> Draft:
    """Lever after lever until the load is served."""
    for lever in _LEVERS:
        now = state(draft.question, load)
        if now is None or now.served:
            break
        draft = _best(draft, now, lever(draft, now, load), load, allowed)
    return draft


def _best(draft: Draft, now: State, candidates: Iterator[Draft], load: Load, allowed: Allowed) -> Draft:
    """The first of a lever's candidates that serves the load, else the one that comes nearest, else the draft as it was."""
    best, least = draft, _distance(now)
    for candidate in candidates:
        then = state(candidate.question, load)
        if then is None or (not then.served and _distance(then) >= least) or not allowed(candidate.question.inputs.serve_args):
            continue
        if then.served:
            return candidate
        best, least = candidate, _distance(then)
    return best


def _distance(now: State) -> tuple[int, bool, float]:
    """How far from served: requests that have no row, a start that fails, then bytes."""
    return (now.rows_missing, now.found.shortage is not None, now.missing)


def _needed_only(draft: Draft, question: Question, load: Load) -> Draft:
    """The draft without what is not needed, the costliest first; where the load is not served, without what brings it little nearer."""
    last = state(draft.question, load)
    if last is None:
        return draft
    for name in reversed(_ARGUMENTS.values()):
        if name not in draft.reasons or name == "dtype":
            continue
        reasons = {key: why for key, why in draft.reasons.items() if key != name}
        changed = draft.question.inputs.serve_args
        without = question.with_args(**{key: changed[key] for key in reasons})
        then = state(without, load)
        if then is not None and _distance(then)[:2] <= _distance(last)[:2] and then.missing <= last.missing * _LITTLE:
            draft = Draft(without, reasons)
    return draft


def _free_to_set(draft: Draft, name: str) -> bool:
    """Whether nobody asked for the argument."""
    return name not in draft.question.inputs.serve_args or name in draft.reasons


def _sequences(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    """As many rows as the load has requests: more where they lack, fewer, halved step by step, where memory does."""
    rows, wanted = draft.question.settings.sequences, math.ceil(load.requests / draft.question.settings.replicas)
    if not _free_to_set(draft, "max_num_seqs"):
        return
    if rows < wanted:
        yield draft.change("max_num_seqs", wanted, "sequences-needed", sequences=wanted)
        return
    least = max(wanted, _FEWEST_SEQUENCES)
    while rows > least:
        rows = max(least, rows // 2)
        yield draft.change("max_num_seqs", rows, "sequences-load", sequences=rows, requests=wanted)


def _context(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    if load.context < draft.question.settings.context and _free_to_set(draft, "max_model_len"):
        yield draft.change("max_model_len", load.context, "context-load", tokens=load.context, own=draft.question.settings.context)


def _video(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    changed = without_video(draft, now.found)
    if changed is not None:
        yield changed


def _utilization(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    """Less where the start needs memory that the budget holds; else more, by hundredths, up to what is free now and stays free."""
    if not _free_to_set(draft, "gpu_memory_utilization"):
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
    while changed is not None and _free_to_set(draft, "max_num_batched_tokens"):
        yield changed
        changed = smaller_batch(changed)


def _kv_dtype(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    if _free_to_set(draft, "kv_cache_dtype") and draft.question.settings.kv_dtype == "auto":
        yield draft.change("kv_cache_dtype", "fp8", "kv-dtype")


def _ranks(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    """Powers of two that divide the heads, up to the cards present."""
    question = draft.question
    if not _free_to_set(draft, "tensor_parallel_size"):
        return
    most = (question.inputs.card.count or 1) // max(1, question.settings.stages * question.settings.replicas)
    for ranks in (2**i for i in range(1, 11)):
        if ranks <= most and question.dims.heads % ranks == 0:
            yield draft.change("tensor_parallel_size", ranks, "tensor-parallel", ranks=ranks)


def _eager(draft: Draft, now: State, load: Load) -> Iterator[Draft]:
    if draft.question.settings.graphs:
        yield draft.change("enforce_eager", True, "eager")


_GENTLE = (_sequences, _context, _video, _utilization, _batch)
# The gentle ones twice: what helps nothing while another check fails may help once that one passes; and again on more ranks.
_LEVERS = (*_GENTLE, *_GENTLE, _kv_dtype, _ranks, *_GENTLE, _kv_dtype, _eager)


def _steps(question: Question, kept: Draft, load: Load) -> list[ReliefStep]:
    """The changes one after another, in the order of relief, each with what it frees."""
    steps: list[ReliefStep] = []
    changed = kept.question.inputs.serve_args
    # What the card cannot compute in is no lever: vLLM itself replaces it.
    before = state(question.with_args(dtype=changed["dtype"]) if "dtype" in kept.reasons else question, load)
    for lever, name in _ARGUMENTS.items():
        if name == "dtype" or name not in kept.reasons or before is None:
            continue
        after = state(before.question.with_args(**{name: changed[name]}), load)
        if after is None:
            break
        steps.append(_step(lever, name, changed[name], before, after, kept.reasons[name]))
        before = after
    return steps


def _step(lever: Lever, name: str, value: Any, before: State, after: State, why: Text) -> ReliefStep:
    context = before.question.settings.context
    return ReliefStep(
        lever,
        name,
        value,
        round(gib(_spent(before) - _spent(after) + abs(after.first.budget - before.first.budget)), 2),
        round(gib(after.found.kv), 2),
        after.found.pool.tokens(after.found.blocks, context),
        round(after.requests, 2) if math.isfinite(after.requests) else 0.0,
        _missing(after),
        why,
    )


def media_levers(question: Question, load: Load, allowed: Allowed = lambda _: True) -> list[ReliefStep]:
    """What the arguments about images, videos and sounds free, each alone; those that free nothing are left out.

    Only limits of 0 take a kind of item out of the profile run: it profiles one largest item however many a prompt may hold.
    """
    kinds = dict.fromkeys(item.modality for item in question.dims.family.encoder)
    before = state(question, load)
    if before is None or not question.dims.multimodal or question.settings.text_only or not kinds:
        return []
    tried: list[tuple[Lever, str, Any]] = [
        ("video", "limit_mm_per_prompt", {"image": 1, "video": 0}),
        ("media-off", "limit_mm_per_prompt", dict.fromkeys(kinds, 0)),
        ("media-unprofiled", "skip_mm_profiling", True),
    ]
    steps = []
    for lever, name, value in tried[0 if {"image", "video"} <= kinds.keys() else 1 :]:
        changed = question.with_args(**{name: value})
        after = state(changed, load)
        if after is None or not _free_to_set(Draft(question, {}), name) or not allowed(changed.inputs.serve_args):
            continue
        typed = json.dumps(value) if isinstance(value, dict) else value
        step = _step(lever, name, typed, before, after, Text(f"size.relief.{lever}", {}))
        if step.frees_gib >= _WORTH_GIB:
            steps.append(step)
    return steps


def _spent(now: State) -> float:
    """Bytes of one GPU that the settings and the load take."""
    rank = now.first
    return rank.weights + max(rank.peaks.charged, rank.peaks.sampler) + rank.non_torch + rank.others + rank.graphs + now.need
