"""The inverse problem: the settings that serve a stated load, with what each frees.

Levers in the order of relief, from what costs the load nothing to what costs speed: sequences, context, no videos, utilization, a smaller
batch, a narrower KV cache, more ranks, no CUDA graphs. Each is pulled only as far as it takes; what turns out not to be needed, since a
later one does it alone, is taken back, the costliest first. Arguments that were asked for stay. What starts by a close call only is taken
where nothing is surer, and said to be so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from envcheck.model.budget import Suggestion
from envcheck.model.relief import Lever, Load, Relief, ReliefStep
from envcheck.model.text import Param, Text
from envcheck.model.units import GIB, gib
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.interval import kv_interval
from envcheck.sizing.levers import Draft, finished, with_dtype
from envcheck.sizing.pull import ARGUMENTS, Allowed, State, free_to_set, pulled, state
from envcheck.sizing.question import Question
from envcheck.sizing.suggest import suggestion

_WORTH_GIB = 0.01
_NO_CHANGE = ("size.suggest.asked", "size.suggest.context-own", "size.suggest.utilization-default")
_HALVINGS = 3  # of an image's sides; a smaller one shows little


def relieve(question: Question, load: Load, allowed: Allowed = lambda _: True) -> Relief | None:
    """The settings that serve a load best, or come nearest; None where too much is unknown.

    `allowed` = whether release and GPU take these serve arguments.
    """
    asked = state(question, load)
    if asked is None:
        return None
    kept = _kept(with_dtype(Draft(question, {})), load, allowed)
    last = state(kept.question, load) or asked
    chosen = finished(kept) if last.found.shortage is None else suggestion(question)
    steps = _steps(question, kept, load)
    if last.found.shortage is not None and chosen.serve_args:
        last = state(question.with_args(**chosen.serve_args), load) or last
    held = last.requests if math.isfinite(last.requests) else float(load.requests)
    return Relief(load, asked.served, last.served, round(held, 2), _missing(last), steps, chosen.serve_args, chosen.why, _held(last, load))


def _kept(start: Draft, load: Load, allowed: Allowed) -> Draft:
    """The levers that serve the load with a start that is no close call, else those that serve it or come nearest."""
    kept = pulled(start, load, allowed, sure=True)
    now = state(kept.question, load, sure=True)
    return kept if now is not None and now.served else pulled(start, load, allowed, sure=False)


def _held(now: State, load: Load) -> tuple[float, float] | None:
    """Fewest and most requests of the load's context that the KV cache holds at once, by its interval; None where it keeps nothing."""
    pool, replicas = now.found.pool, now.question.settings.replicas
    if not pool.groups or now.found.shortage or now.question.settings.blocks:
        return None
    low, high = (pool.concurrency(pool.blocks(bound), load.context) * replicas for bound in kv_interval(now.question, now.first))
    return round(low, 2), round(high, 2)


def _missing(now: State) -> float:
    return round(gib(now.missing), 2) if now.missing >= 0.005 * GIB else 0.01 if now.missing else 0.0


def _steps(question: Question, kept: Draft, load: Load | None) -> list[ReliefStep]:
    """The changes one after another, in the order of relief, each with what it frees; `load` None = one request of the context in force."""
    steps: list[ReliefStep] = []
    changed = kept.question.inputs.serve_args
    # What the card cannot compute in is no lever: vLLM itself replaces it.
    before = _under(question.with_args(dtype=changed["dtype"]) if "dtype" in kept.reasons else question, load)
    for lever, name in ARGUMENTS.items():
        if name == "dtype" or name not in kept.reasons or before is None:
            continue
        after = _under(before.question.with_args(**{name: changed[name]}), load)
        if after is None:
            break
        steps.append(_step(lever, name, changed[name], before, after, kept.reasons[name]))
        before = after
    return steps


def _under(question: Question, load: Load | None) -> State | None:
    return state(question, load or Load(1, question.settings.context))


def steps_to(question: Question, suggested: Suggestion) -> list[ReliefStep]:
    """The changes that a suggestion makes, in the order of relief, for one request of the context in force."""
    reasons = {
        name: why for name, why in zip(suggested.serve_args, suggested.why, strict=False) if why.key not in _NO_CHANGE and name != "dtype"
    }
    changed = question.with_args(**suggested.serve_args)
    return _steps(with_dtype(Draft(question, {})).question, Draft(changed, reasons), None)


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
        *_pixels(question),
        ("media-off", "limit_mm_per_prompt", dict.fromkeys(kinds, 0)),
        ("media-unprofiled", "skip_mm_profiling", True),
    ]
    steps = []
    for lever, name, value in tried[0 if {"image", "video"} <= kinds.keys() else 1 :]:
        changed = question.with_args(**{name: value})
        after = state(changed, load)
        if after is None or not free_to_set(Draft(question, {}), name) or not allowed(changed.inputs.serve_args):
            continue
        typed = json.dumps(value) if isinstance(value, dict) else value
        step = _step(lever, name, typed, before, after, Text(f"size.relief.{lever}", _told(lever, value)))
        if step.frees_gib >= _WORTH_GIB:
            steps.append(step)
    return steps


def _pixels(question: Question) -> Iterator[tuple[Lever, str, Any]]:
    """The largest images, their sides halved step by step, beside whose encoder pass another of the passes is the largest.

    The bound goes to the model's own processor, where that has one.
    """
    whole = max((item.pixels or 0 for item in question.dims.family.encoder), default=0)
    if not whole or question.settings.max_pixels is not None:
        return
    for pixels in (whole // 4**halved for halved in range(1, _HALVINGS + 1)):
        rank = rank_budget(question.with_args(mm_processor_kwargs={"max_pixels": pixels}), question.stages[0])
        if rank is not None and (not rank.peaks.encoder_pays or pixels == whole // 4**_HALVINGS):
            yield "pixels", "mm_processor_kwargs", {"max_pixels": pixels}
            return


def _told(lever: Lever, value: Any) -> dict[str, Param]:
    return {"pixels": value["max_pixels"], "side": math.isqrt(value["max_pixels"])} if lever == "pixels" else {}


def _spent(now: State) -> float:
    """Bytes of one GPU that the settings and the load take."""
    rank = now.first
    return rank.weights + max(rank.peaks.charged, rank.peaks.sampler) + rank.non_torch + rank.others + rank.graphs + now.need
