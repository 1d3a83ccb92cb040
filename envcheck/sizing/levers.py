"""Single changes of serve arguments, each with its reason, and the arguments to type once they are made."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from envcheck.model.budget import Suggestion
from envcheck.model.secret_names import is_secret_argument
from envcheck.model.text import Text
from envcheck.model.units import GIB
from envcheck.sizing.budget import Outcome, free_bytes, noise_bytes, outcome
from envcheck.sizing.question import Question
from envcheck.sizing.verdict import close_call

_SMALLEST_BATCH = 512
_LEAST_UTILIZATION = 0.2
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


class Draft(msgspec.Struct, frozen=True):
    """A question with changed arguments and the reason of each change."""

    question: Question
    reasons: Mapping[str, Text]

    def change(self, name: str, value: Any, key: str, **params: str | int | float) -> Draft:
        """The draft with one more argument set."""
        return Draft(self.question.with_args(**{name: value}), {**self.reasons, name: Text(f"size.suggest.{key}", dict(params))})


def with_dtype(draft: Draft) -> Draft:
    """Half precision where the card has no bfloat16."""
    card, args, least = draft.question.inputs.card, draft.question.inputs.serve_args, draft.question.table.bfloat16_from
    is_bfloat = "bfloat16" in draft.question.dims.dtype.lower()
    served = least is None or card.capability is None or card.capability >= least
    if served or args.get("dtype") not in (None, "auto", "bfloat16") or not is_bfloat:
        return draft
    return draft.change("dtype", "half", "dtype-half", capability=str(card.capability), needed=str(least))


def on_ranks(draft: Draft, ranks: int, whole: bool) -> Draft:
    """The draft on so many tensor-parallel ranks; `whole` = with experts that are not cut."""
    if ranks > 1:
        draft = draft.change("tensor_parallel_size", ranks, "tensor-parallel", ranks=ranks)
    return draft.change("enable_expert_parallel", True, "whole-experts", ranks=ranks) if whole else draft


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


def without_video(draft: Draft, found: Outcome) -> Draft | None:
    """No videos, where the largest one decides the encoder's peak and nobody asked for them: images stay."""
    question, peak = draft.question, found.ranks[0].peaks
    modalities = {item.modality for item in question.dims.family.encoder}
    asked = "limit_mm_per_prompt" in question.inputs.serve_args
    if asked or not {"image", "video"} <= modalities or peak.encoder <= max(peak.forward, peak.sampler):
        return None
    return draft.change("limit_mm_per_prompt", {"image": 1, "video": 0}, "no-video")


def smaller_batch(draft: Draft) -> Draft | None:
    """Half the batch: the forward pass's peak follows. Where prompts are not split, the batch is the context and cannot shrink."""
    settings = draft.question.settings
    value = settings.batched_tokens // 2
    if value < max(_SMALLEST_BATCH, settings.sequences) or not settings.chunked:
        return None
    return draft.change("max_num_batched_tokens", value, "batched-tokens", tokens=value)


def finished(draft: Draft) -> Suggestion:
    """The arguments to type: ours in a fixed order, then the user's own, each with its reason."""
    question = draft.question
    args, settings, reasons = question.inputs.serve_args, question.settings, {**draft.reasons, **_said_close(question)}
    chosen: dict[str, Any] = {}
    why: list[Text] = []
    for name in (*_OURS, *(key for key in args if key not in _OURS and _NAME.fullmatch(key) and not is_secret_argument(key))):
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


def _said_close(question: Question) -> dict[str, Text]:
    """The reason of the context where a start with it is a close call."""
    found = outcome(question)
    close = close_call(question, found) if found and not found.shortage else None
    if close is None:
        return {}
    lacking = f"{(close.needed - close.available) / GIB:.2f}"
    return {"max_model_len": Text("size.suggest.context-close", {"tokens": question.settings.context, "lacking": lacking})}


def _reason(name: str, question: Question) -> Text:
    if name in question.inputs.serve_args:
        return Text("size.suggest.asked", {"argument": name})
    if name == "max_model_len":
        return Text("size.suggest.context-own", {"tokens": question.settings.context})
    return Text("size.suggest.utilization-default", {"utilization": f"{question.settings.utilization:g}"})


def _plain(value: Any) -> Any:
    """A value that can be typed: a short scalar, or an object as JSON."""
    if isinstance(value, (dict, list)):
        import json  # noqa: PLC0415  # seldom needed, and slow to import

        try:
            value = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            return None
    if isinstance(value, str):
        return value if 0 < len(value) <= 2000 and value.isprintable() else None
    return value if isinstance(value, (bool, int, float)) and math.isfinite(value) else None
