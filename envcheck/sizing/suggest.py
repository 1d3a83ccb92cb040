"""Serve arguments that fit: the user's own where they do, else the gentlest change that does, each with its reason.

Levers, from the gentlest: more tensor-parallel ranks, less utilization where memory is taken, no videos where their encoder is what does
not fit, a shorter context, fewer sequences, smaller batches, last of all no CUDA graphs. Quantization is never invented.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from envcheck.model.budget import Suggestion
from envcheck.model.text import Text
from envcheck.model.units import GIB
from envcheck.sizing.budget import Outcome, free_bytes, noise_bytes, outcome
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.question import Question, ask
from envcheck.sizing.ranks import stages, tensor_ranks
from envcheck.sizing.release import MemoryTable

_CONTEXT_STEP = 512  # tokens
_FEWEST_SEQUENCES, _SMALLEST_BATCH = 16, 512
_LEAST_UTILIZATION = 0.2
_TRIES = 12
_NAME = re.compile(r"[a-z][a-z0-9_]{0,60}")
_OURS = (
    "tensor_parallel_size",
    "max_model_len",
    "gpu_memory_utilization",
    "kv_cache_dtype",
    "max_num_seqs",
    "max_num_batched_tokens",
    "limit_mm_per_prompt",
    "dtype",
    "enforce_eager",
)
_UNSAID = (*_OURS, "api_key")  # a key is never written down


class Draft(msgspec.Struct, frozen=True):
    """A question with changed arguments and the reason of each change."""

    question: Question
    reasons: Mapping[str, Text]

    def change(self, name: str, value: Any, key: str, **params: str | int | float) -> Draft:
        """The draft with one more argument set."""
        return Draft(self.question.with_args(**{name: value}), {**self.reasons, name: Text(f"size.suggest.{key}", dict(params))})


def suggest(inputs: SizingInputs, table: MemoryTable) -> Suggestion:
    """Serve arguments that fit this card; empty where nothing fits or too much is unknown."""
    return suggestion(ask(inputs, table))


def suggestion(question: Question) -> Suggestion:
    """The suggestion for a question made ready."""
    if question.total is None or outcome(question) is None:
        return Suggestion()
    best: Draft | None = None
    for draft in _by_ranks(with_dtype(Draft(question, {}))):
        fitted = _fitted(draft)
        if fitted and (best is None or fitted.question.settings.context > best.question.settings.context):
            best = fitted
        if best and best.question.settings.context >= question.settings.context:
            break
    if best is None:
        best = next((fitted for draft in _by_stages(with_dtype(Draft(question, {}))) if (fitted := _fitted(draft))), None)
    return finished(best) if best else Suggestion()


def with_dtype(draft: Draft) -> Draft:
    """Half precision where the card has no bfloat16."""
    card, args, least = draft.question.inputs.card, draft.question.inputs.serve_args, draft.question.table.bfloat16_from
    is_bfloat = "bfloat16" in draft.question.dims.dtype.lower()
    served = least is None or card.capability is None or card.capability >= least
    if served or args.get("dtype") not in (None, "auto", "bfloat16") or not is_bfloat:
        return draft
    return draft.change("dtype", "half", "dtype-half", capability=str(card.capability), needed=str(least))


def _by_ranks(draft: Draft) -> Iterator[Draft]:
    """The same question on one, two, four … ranks: powers of two that divide the model, up to the cards present."""
    question = draft.question
    if "tensor_parallel_size" in question.inputs.serve_args:
        yield draft
        return
    most = (question.inputs.card.count or 1) // max(1, question.settings.stages * question.settings.replicas)
    for ranks, whole in tensor_ranks(question.dims, most):
        yield _on_ranks(draft, ranks, whole)


def _on_ranks(draft: Draft, ranks: int, whole: bool) -> Draft:
    """The draft on so many tensor-parallel ranks; `whole` = with experts that are not cut."""
    if ranks > 1:
        draft = draft.change("tensor_parallel_size", ranks, "tensor-parallel", ranks=ranks)
    return draft.change("enable_expert_parallel", True, "whole-experts", ranks=ranks) if whole else draft


def _by_stages(draft: Draft) -> Iterator[Draft]:
    """The same question on pipeline stages as well, where the user said nothing of either."""
    question, args = draft.question, draft.question.inputs.serve_args
    most = (question.inputs.card.count or 1) // max(1, question.settings.replicas)
    if "tensor_parallel_size" in args or "pipeline_parallel_size" in args or most < 2:
        return
    for ranks, count, whole in islice(stages(question.dims, most), _TRIES):
        yield _on_ranks(draft, ranks, whole).change("pipeline_parallel_size", count, "pipeline-parallel", stages=count)


def _fitted(draft: Draft) -> Draft | None:
    """The draft with as few changes as it takes to start; None where none helps."""
    for _ in range(_TRIES):
        found = outcome(draft.question)
        if found is None:
            return None
        if found.shortage is None:
            return draft
        changed = _relieved(draft, found)
        if changed is None:
            return None
        draft = changed
    return None


def _relieved(draft: Draft, found: Outcome) -> Draft | None:
    """One step against the shortage."""
    kind = found.shortage.kind if found.shortage else ""
    if kind == "free-memory":
        return less_utilization(draft, found)
    if kind == "kv-too-small":
        return without_video(draft, found) or _shorter(draft, found) or _fewer(draft) or smaller_batch(draft) or _eager(draft)
    if kind in ("no-kv-blocks", "profile-run", "encoder"):
        return without_video(draft, found) or _fewer(draft) or smaller_batch(draft) or _eager(draft)
    if kind == "sampler-warmup":
        return _fewer(draft) or less_utilization(draft, found)
    if kind == "cuda-graphs":
        return less_utilization(draft, found) or _eager(draft)
    return None


def less_utilization(draft: Draft, found: Outcome) -> Draft | None:
    """As much as is free when the server starts, two decimals, rounded down."""
    question, total = draft.question, found.ranks[0].total
    free, _ = free_bytes(question, total)
    lacking = found.shortage.needed - found.shortage.available if found.shortage else 0.0
    wanted = min(free - noise_bytes(question), question.settings.utilization * total - lacking) / total
    value = math.floor(wanted * 100) / 100
    if value < _LEAST_UTILIZATION or value >= question.settings.utilization:
        return None
    return draft.change(
        "gpu_memory_utilization", value, "utilization-free", utilization=f"{value:g}", free=f"{free / GIB:.2f}", total=f"{total / GIB:.2f}"
    )


def _shorter(draft: Draft, found: Outcome) -> Draft | None:
    """The longest context that one request can have, in steps, a run's noise kept back."""
    question = draft.question
    longest = found.pool.longest(found.kv - noise_bytes(question), question.settings.context)
    value = longest // _CONTEXT_STEP * _CONTEXT_STEP
    if value < _CONTEXT_STEP:
        return None
    return draft.change(
        "max_model_len", value, "context-fits", tokens=value, step=_CONTEXT_STEP, own=question.dims.context or question.settings.context
    )


def without_video(draft: Draft, found: Outcome) -> Draft | None:
    """No videos, where the largest one decides the encoder's peak and nobody asked for them: images stay."""
    question, peak = draft.question, found.ranks[0].peaks
    modalities = {item.modality for item in question.dims.family.encoder}
    asked = "limit_mm_per_prompt" in question.inputs.serve_args
    if asked or not {"image", "video"} <= modalities or peak.encoder <= max(peak.forward, peak.sampler):
        return None
    return draft.change("limit_mm_per_prompt", {"image": 1, "video": 0}, "no-video")


def _fewer(draft: Draft) -> Draft | None:
    """Half the sequences: the sampler's peak and the number of graphs follow."""
    now = draft.question.settings.sequences
    return draft.change("max_num_seqs", now // 2, "sequences", sequences=now // 2) if now // 2 >= _FEWEST_SEQUENCES else None


def smaller_batch(draft: Draft) -> Draft | None:
    """Half the batch: the forward pass's peak follows. Where prompts are not split, the batch is the context and cannot shrink."""
    settings = draft.question.settings
    value = settings.batched_tokens // 2
    if value < max(_SMALLEST_BATCH, settings.sequences) or not settings.chunked:
        return None
    return draft.change("max_num_batched_tokens", value, "batched-tokens", tokens=value)


def _eager(draft: Draft) -> Draft | None:
    if not draft.question.settings.graphs:
        return None
    return draft.change("enforce_eager", True, "eager")


def finished(draft: Draft) -> Suggestion:
    """The arguments to type: ours in a fixed order, then the user's own, each with its reason."""
    question, reasons = draft.question, draft.reasons
    args, settings = question.inputs.serve_args, question.settings
    chosen: dict[str, Any] = {}
    why: list[Text] = []
    for name in (*_OURS, *(key for key in args if key not in _UNSAID and _NAME.fullmatch(key))):
        value = _plain(args.get(name))
        if name == "max_model_len" and (value is None or not settings.context_asked):
            value = settings.context
        if name == "gpu_memory_utilization" and value is None:
            value = settings.utilization
        if value is None or value is False or (name == "tensor_parallel_size" and value == 1):
            continue
        chosen[name] = value
        why.append(reasons.get(name) or _reason(name, question))
    return Suggestion(chosen, why)


def _reason(name: str, question: Question) -> Text:
    if name in question.inputs.serve_args:
        return Text("size.suggest.asked", {"argument": name})
    if name == "max_model_len":
        return Text("size.suggest.context-own", {"tokens": question.settings.context})
    return Text("size.suggest.utilization-default", {"utilization": f"{question.settings.utilization:g}"})


def _plain(value: Any) -> Any:
    """A value that can be typed: a short scalar, or an object as JSON."""
    if isinstance(value, (dict, list)):
        try:
            value = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            return None
    if isinstance(value, str):
        return value if 0 < len(value) <= 2000 and value.isprintable() else None
    return value if isinstance(value, (bool, int, float)) and math.isfinite(value) else None
