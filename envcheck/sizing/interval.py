"""How far the KV figure may be off: each term's spread from its record, and the interval that they make together. Bytes on one rank."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from envcheck.model.memorycards import Spread
from envcheck.model.memoryrecord import ModelKind
from envcheck.model.units import GIB
from envcheck.sizing.budget import RankBudget
from envcheck.sizing.card import interconnect
from envcheck.sizing.fields import flag
from envcheck.sizing.peaks import sampler_record
from envcheck.sizing.question import Question
from envcheck.sizing.release import first

_UNKNOWN = Spread(term="noise", gib=1.0, share=0.1, sources=[])  # a term nobody has measured


def kv_interval(question: Question, rank: RankBudget) -> tuple[float, float]:
    """(low, high) bytes of the rank's KV memory: the terms' errors are independent, so that their squares add up.

    What was asked for outright is exact. Where nobody told whether it is a first start, a warm cache gives back what compiling took,
    and a cold one takes what nobody charged.
    """
    if question.settings.kv_bytes:
        return rank.kv, rank.kv
    width = math.sqrt(sum(spread**2 for spread in _spreads(question, rank)))
    warm = rank.peaks.cold if question.inputs.first_start is None else 0.0
    high = rank.kv + width + warm + _other_sampler(question, rank) + _record(question, "non_torch").above_gib * GIB
    return rank.kv - width - rank.peaks.cold_doubt, min(high, rank.budget)


def _other_sampler(question: Question, rank: RankBudget) -> float:
    """What is gained where a package brings another sampler that nobody told of."""
    settings, peak = question.settings, rank.peaks
    told = flag(question.inputs.environment, "VLLM_USE_FLASHINFER_SAMPLER")
    if settings.flashinfer or told is False or not peak.sampler:
        return 0.0
    here, other = (
        sampler_record(each, question.rules, question.runner) for each in (settings, msgspec.structs.replace(settings, flashinfer=True))
    )
    least = peak.sampler * other.bytes_per_logit / here.bytes_per_logit
    return max(peak.forward, peak.sampler) - max(peak.forward, least)


def _spreads(question: Question, rank: RankBudget) -> Iterator[float]:
    """Bytes by which each term may be off."""
    inputs, peak = question.inputs, rank.peaks
    if inputs.weights_gib is None:
        yield _spread(question, "quantized" if question.form.name else "weights", rank.weights)
    if inputs.card.total_bytes is None:
        yield _spread(question, "total", rank.total)
    passes = max(peak.forward, peak.sampler) + peak.workspace
    yield _spread(question, "peaks" if peak.forward >= peak.sampler else "sampler", passes)
    yield _spread(question, "encoder", max(0.0, peak.charged - peak.cold - passes))
    if model_kind(question) == "multimodal" and question.settings.profile_encoder and peak.encoder <= peak.held:
        yield _spread(question, "tower", rank.total)  # an encoder whose size is not known
    yield _spread(question, "cold", peak.cold)
    yield _spread(question, "non_torch", rank.non_torch + rank.others)
    yield _spread(question, "graphs", rank.graphs_charged)
    yield _spread(question, "noise", rank.total)


def _spread(question: Question, term: str, n_bytes: float) -> float:
    record = _record(question, term)
    return record.gib * GIB + record.share * n_bytes if n_bytes else 0.0


def _record(question: Question, term: str) -> Spread:
    return first(question.rules.spreads, lambda r: r.term == term and _fits(question, r)) or _UNKNOWN


def _fits(question: Question, record: Spread) -> bool:
    name = question.inputs.card.name.lower()
    return (
        (not record.kinds or model_kind(question) in record.kinds)
        and record.runner in (None, question.runner)
        and record.ranks <= question.settings.tensor_ranks
        and record.unified <= question.inputs.card.unified
        and record.interconnect in (None, interconnect(question.inputs.card))
        and (not record.gpus or any(part in name for part in record.gpus))
    )


def model_kind(question: Question) -> ModelKind:
    """What makes a model's peaks hard to know: an encoder, then recurrent layers, then experts."""
    dims = question.dims
    if dims.multimodal and not question.settings.text_only:
        return "multimodal"
    if dims.recurrent:
        return "recurrent"
    return "experts" if dims.experts else "dense"
