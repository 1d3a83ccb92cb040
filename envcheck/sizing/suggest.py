"""Serve arguments that fit: the user's own where they do, else the gentlest change that does, each with its reason.

The model's whole context comes first: the levers of a stated load, in their order, for one request of it, without those that cost accuracy
or speed. Where they do not serve it, a shorter context on as many ranks as give it most, fewer sequences, smaller batches, last of all no
CUDA graphs. What starts only by a close call is taken where nothing else starts, and said to be so. Quantization is never invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import msgspec

from envcheck.model.budget import FailureKind, Suggestion
from envcheck.sizing.budget import Outcome, Shortage, noise_bytes, outcome
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.levers import Draft, finished, less_utilization, on_ranks, smaller_batch, with_dtype, without_video
from envcheck.sizing.question import Question, ask
from envcheck.sizing.ranks import stages, tensor_ranks
from envcheck.sizing.release import MemoryTable
from envcheck.sizing.verdict import close_call, sure_bytes, verdict

_CONTEXT_STEP = 512  # tokens
_FEWEST_SEQUENCES = 16
_TRIES = 12


def suggest(inputs: SizingInputs, table: MemoryTable) -> Suggestion:
    """Serve arguments that fit this card; empty where nothing fits or too much is unknown."""
    return suggestion(ask(inputs, table))


def suggestion(question: Question) -> Suggestion:
    """The suggestion for a question made ready."""
    if question.total is None or outcome(question) is None:
        return Suggestion()
    draft = with_dtype(Draft(question, {}))
    best = draft if _sure(draft) else _whole_context(draft)
    for sure in (True, False):
        best = best or _longest(_by_ranks(draft), question.settings.context, sure=sure)
        best = best or _longest(_by_stages(draft), 0, sure=sure)
    return finished(best) if best else Suggestion()


def _sure(draft: Draft) -> bool:
    return verdict(draft.question, outcome(draft.question)) == "fits"


def _whole_context(draft: Draft) -> Draft | None:
    """The draft with the gentle levers that keep its whole context; None where they do not do."""
    from envcheck.model.relief import Load  # noqa: PLC0415  # most models fit as they are
    from envcheck.sizing.pull import keeps_quality, pulled  # noqa: PLC0415  # as above

    best = pulled(draft, Load(1, draft.question.settings.context), keeps_quality, sure=True)
    return best if _sure(best) else None


def _by_ranks(draft: Draft) -> Iterator[Draft]:
    """The same question on one, two, four … ranks: powers of two that divide the model, up to the cards present."""
    question = draft.question
    if "tensor_parallel_size" in question.inputs.serve_args:
        yield draft
        return
    most = (question.inputs.card.count or 1) // max(1, question.settings.stages * question.settings.replicas)
    for ranks, whole in tensor_ranks(question.dims, most):
        yield on_ranks(draft, ranks, whole)


def _by_stages(draft: Draft) -> Iterator[Draft]:
    """The same question on pipeline stages as well, where the user said nothing of either."""
    question, args = draft.question, draft.question.inputs.serve_args
    most = (question.inputs.card.count or 1) // max(1, question.settings.replicas)
    if "tensor_parallel_size" in args or "pipeline_parallel_size" in args or most < 2:
        return
    for ranks, count, whole in islice(stages(question.dims, most), _TRIES):
        yield on_ranks(draft, ranks, whole).change("pipeline_parallel_size", count, "pipeline-parallel", stages=count)


def _longest(drafts: Iterable[Draft], context: int, *, sure: bool) -> Draft | None:
    """Of the drafts made to fit the one with the longest context, the first that has it."""
    best: Draft | None = None
    for draft in drafts:
        fitted = _fitted(draft, sure=sure)
        if fitted and (best is None or fitted.question.settings.context > best.question.settings.context):
            best = fitted
        if best and best.question.settings.context >= context:
            break
    return best


def _fitted(draft: Draft, *, sure: bool) -> Draft | None:
    """The draft with as few changes as it takes to start, `sure` = not by a close call; None where none helps."""
    for _ in range(_TRIES):
        found = outcome(draft.question)
        if found is None:
            return None
        close = close_call(draft.question, found) if sure and not found.shortage else None
        if found.shortage is None and close is None:
            return draft
        changed = _surer(draft, found, close) if close else _relieved(draft, found)
        if changed is None:
            return None
        draft = changed
    return None


def _surer(draft: Draft, found: Outcome, close: Shortage) -> Draft | None:
    """One step away from a close call, which costs no speed and leaves alone what was asked for."""
    found, args = msgspec.structs.replace(found, shortage=close), draft.question.inputs.serve_args
    for step in _SURER.get(close.kind, ()):
        changed = step(draft, found)
        if changed is not None and not any(name in args for name in changed.reasons.keys() - draft.reasons.keys()):
            return changed
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


def _shorter(draft: Draft, found: Outcome) -> Draft | None:
    """The longest context that one request can have in nine starts of ten, in steps.

    Where memory for not even one step is sure, what a usual start has, a run's noise kept back.
    """
    question = draft.question
    sure = found.pool.longest(sure_bytes(question, found), question.settings.context)
    likely = found.pool.longest(found.kv - noise_bytes(question), question.settings.context)
    longest = sure if sure >= _CONTEXT_STEP else likely
    value = longest // _CONTEXT_STEP * _CONTEXT_STEP
    if value < _CONTEXT_STEP:
        return None
    return draft.change(
        "max_model_len", value, "context-fits", tokens=value, step=_CONTEXT_STEP, own=question.dims.context or question.settings.context
    )


def _fewer(draft: Draft) -> Draft | None:
    """Half the sequences: the sampler's peak and the number of graphs follow."""
    now = draft.question.settings.sequences
    return draft.change("max_num_seqs", now // 2, "sequences", sequences=now // 2) if now // 2 >= _FEWEST_SEQUENCES else None


def _eager(draft: Draft) -> Draft | None:
    if not draft.question.settings.graphs:
        return None
    return draft.change("enforce_eager", True, "eager")


Step = Callable[[Draft, Outcome], Draft | None]
_SMALLER: tuple[Step, ...] = (without_video, lambda draft, _: _fewer(draft), lambda draft, _: smaller_batch(draft))
_SURER: dict[FailureKind, tuple[Step, ...]] = {
    "free-memory": (less_utilization,),
    "cuda-graphs": (less_utilization,),
    "sampler-warmup": (lambda draft, _: _fewer(draft), less_utilization),
    "kv-too-small": (without_video, _shorter),
    "no-kv-blocks": _SMALLER,
    "profile-run": _SMALLER,
    "encoder": _SMALLER,
}
