"""The answer in GiB: verdict, terms, KV cache, the failure, how sure it is, and an account of every term."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.budget import Confidence, KvCache, PerGpu, SizeFailure, SizeResult, Suggestion
from envcheck.model.text import Text
from envcheck.model.units import gib
from envcheck.sizing.account import account
from envcheck.sizing.budget import Outcome, RankBudget, outcome, rank_budget
from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.interval import kv_interval
from envcheck.sizing.kv_cache import bytes_per_token, cache_layers
from envcheck.sizing.question import Question, ask
from envcheck.sizing.release import MemoryTable
from envcheck.sizing.verdict import verdict

_DIGITS = 4  # of a GiB figure: 0.1 MiB


def size(inputs: SizingInputs, table: MemoryTable) -> SizeResult:
    """The memory budget of one server under the settings asked for, without a suggestion of other settings."""
    return result(ask(inputs, table))


def result(question: Question, suggested: Suggestion | None = None) -> SizeResult:
    """The answer to a question made ready."""
    found = outcome(question)
    first = found.ranks[0] if found else rank_budget(question, question.stages[0])
    return SizeResult(
        verdict=verdict(question, found),
        engine=question.rules.engine,
        per_gpu_gib=_per_gpu(question, first),
        kv=_kv(question, found),
        failure=_failure(question, found),
        suggested=suggested or Suggestion(),
        confidence=_confidence(question),
        unknowns=unknowns(question),
        account=account(question, first) if first else [],
    )


def unknowns(question: Question) -> list[Text]:
    """What was missing, each with what it is needed for."""
    found = [Text("size.unknown.field", {"field": name}) for name in question.dims.missing]
    if question.total is None:
        found.append(Text("size.unknown.gpu-memory", {}))
    if not question.dims.missing and question.weights(question.stages[0]) is None:
        found.append(Text("size.unknown.weights", {"format": question.form.name or ""}))
    return [*found, *_beside(question)]


def _beside(question: Question) -> Iterator[Text]:
    """What is not known of a draft, and which adapters will not load."""
    draft, lora, rule = question.settings.draft, question.settings.lora, question.rules.lora
    if draft is not None and draft.assumed:
        known = draft.dims is not None or draft.weights_bytes is not None
        yield Text("size.unknown.draft" if known else "size.unknown.draft-size", {"model": draft.name or draft.kind})
    if lora is None or rule is None:
        return
    from envcheck.sizing.lora import refused  # noqa: PLC0415  # few servers have adapters

    yield from refused(question.dims, lora, rule)


def _per_gpu(question: Question, first: RankBudget | None) -> PerGpu:
    total = question.total
    if first is None:
        weights = question.weights(question.stages[0])
        budget = total * question.settings.utilization if total is not None else None
        return PerGpu(total=_gib(total), budget=_gib(budget), weights=_gib(weights))
    return PerGpu(
        total=_gib(first.total),
        budget=_gib(first.budget),
        weights=_gib(first.weights),
        activation=_gib(first.peaks.forward + first.peaks.workspace + first.peaks.cold),
        sampler=_gib(first.peaks.sampler),
        encoder=_gib(first.peaks.encoder),
        non_torch=_gib(first.non_torch + first.others),
        cuda_graphs=_gib(first.graphs_charged or first.graphs),
        kv_cache=_gib(first.kv),
    )


def _kv(question: Question, found: Outcome | None) -> KvCache:
    if question.dims.missing:
        return KvCache()
    plain = bytes_per_token(cache_layers(question.dims, question.settings, question.rules.kv_layout, question.rules.facts.kv_formats))
    if found is None:
        return KvCache(bytes_per_token=round(plain, 1) or None)
    interval = _interval(question, found)
    if found.kv <= 0 or not found.blocks:
        return KvCache(round(plain, 1) or None, 0, 0.0, interval)
    context = question.settings.context
    tokens = found.pool.tokens(found.blocks, context)
    told = question.inputs.release is not None and question.inputs.release_told
    printed = tokens and not question.settings.blocks and told
    each = found.ranks[0].kv / tokens if printed else plain
    return KvCache(round(each, 1), tokens, round(found.pool.concurrency(found.blocks, context), 2), interval)


def _interval(question: Question, found: Outcome) -> tuple[float, float]:
    """GiB of the first rank's KV memory, lowest and highest."""
    low, high = kv_interval(question, found.ranks[0])
    return round(gib(low), _DIGITS), round(gib(high), _DIGITS)


def _failure(question: Question, found: Outcome | None) -> SizeFailure | None:
    if found is None or found.shortage is None:
        return None
    longest = found.pool.longest(found.kv, question.settings.context) if found.shortage.kind == "kv-too-small" else None
    return SizeFailure(found.shortage.kind, _gib(found.shortage.needed), _gib(found.shortage.available), longest)


def _confidence(question: Question) -> Confidence:
    """`guess` where the release or the encoder is not known, the weights are scaled, or no such run was ever seen.

    `measured` with measured weights and total, on a release whose logs are known; else `derived`.
    """
    inputs = question.inputs
    compressed = any(group.layer.compress for group in question.dims.layers)
    draft = question.settings.draft
    unsure = (
        inputs.release is None or (draft is not None and draft.assumed) or question.dims.missing or not question.form.known or compressed
    )
    spread_experts = question.dims.experts is not None and question.settings.replicas > 1
    unseen = inputs.card.unified or spread_experts or question.dims.encoder is not None
    if unsure or unseen or (question.dims.multimodal and not question.settings.text_only):
        return "guess"
    told = inputs.weights_gib is not None and inputs.card.total_bytes is not None
    return "measured" if told and question.rules.measured else "derived"


def _gib(n_bytes: float | None) -> float | None:
    return round(gib(n_bytes), _DIGITS) if n_bytes is not None else None
