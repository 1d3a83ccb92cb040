"""Where each GiB comes from, as texts with the figures that go into it."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.budget import AccountLine
from envcheck.model.text import Param, Text
from envcheck.model.units import GIB, gib
from envcheck.sizing.budget import RankBudget
from envcheck.sizing.graphs import graph_count
from envcheck.sizing.question import Question

_WHOLE = ("model", "medusa", "mlp")  # drafts that borrow nothing of the model


def account(question: Question, rank: RankBudget) -> list[AccountLine]:
    """One line a term, in the order in which the server takes the memory; terms of nothing are left out."""
    lines = [*_fixed(question, rank), *_peaks(question, rank), *_graphs(question, rank), _cache(question, rank)]
    return [line for line in lines if abs(line.gib) >= 0.005 or line.term == "kv_cache"]


def _line(term: str, n_bytes: float, charged: bool, key: str, **params: Param) -> AccountLine:
    return AccountLine(term, round(gib(n_bytes), 2), charged, Text(f"size.account.{key}", {"gib": f"{gib(n_bytes):.2f}", **params}))


def _fixed(question: Question, rank: RankBudget) -> Iterator[AccountLine]:
    settings, inputs = question.settings, question.inputs
    ranks = settings.tensor_ranks * settings.stages
    draft, lora = question.draft_bytes(rank.rank), question.lora_bytes(rank.rank)
    own = rank.weights - draft - lora
    if inputs.weights_gib is not None:
        yield _line("weights", rank.weights, True, "weights-measured")
    elif question.dims.missing or not question.form.known:
        yield _line("weights", own, True, "weights-checkpoint", ranks=ranks)
    else:
        yield _line("weights", own, True, "weights-computed", ranks=ranks, format=question.form.name or f"{settings.dtype_bytes * 8} bit")
    if inputs.weights_gib is None:
        yield from _beside(question, draft, lora)
    yield _line("non_torch", rank.non_torch - _buffers(question, rank), True, "non-torch", ranks=settings.tensor_ranks)
    yield _line("buffers", _buffers(question, rank), True, "buffers", rows=settings.sequences, vocabulary=question.dims.vocab)
    yield _line("others", rank.others, True, "others")


def _beside(question: Question, draft: float, lora: float) -> Iterator[AccountLine]:
    """What is loaded with the model: a draft, and the buffers of adapters."""
    speculation, adapters = question.settings.draft, question.settings.lora
    if speculation is not None:
        key = "draft-assumed" if speculation.assumed else "draft-model" if speculation.kind in _WHOLE else "draft"
        yield _line("draft", draft, True, key, kind=speculation.kind, tokens=speculation.tokens, ranks=speculation.ranks)
    if adapters is not None:
        yield _line("lora", lora, True, "lora", loras=adapters.loras, rank=adapters.rank)


def _buffers(question: Question, rank: RankBudget) -> float:
    return rank.peaks.buffers if question.rules.accounting.charges_buffers else 0.0


def _peaks(question: Question, rank: RankBudget) -> Iterator[AccountLine]:
    """The passes of the profile run: the encoder's alone, or the larger of forward pass and sampler beside what stays of the encoder."""
    settings, peak = question.settings, rank.peaks
    encoder_pays, forward_larger = peak.encoder_pays, peak.forward >= peak.sampler
    yield _line("activation", peak.forward, forward_larger and not encoder_pays, "forward", tokens=settings.batched_tokens)
    rows, vocabulary = settings.sequences, question.dims.vocab
    yield _line("sampler", peak.sampler, not forward_larger and not encoder_pays, "sampler", rows=rows, vocabulary=vocabulary)
    yield _line("experts", peak.workspace, not encoder_pays, "experts", tokens=settings.batched_tokens)
    yield _line("encoder", peak.encoder, encoder_pays, "encoder")
    yield _line("encoder", 0.0 if encoder_pays else peak.held, True, "encoder-kept")
    yield _line("cold_start", peak.cold, True, "cold-start")
    yield _line("cold_start", peak.cold_doubt, False, "cold-doubt")


def _graphs(question: Question, rank: RankBudget) -> Iterator[AccountLine]:
    count = graph_count(question.settings, question.rules)
    charged = rank.graphs_charged > 0
    yield _line("cuda_graphs", rank.graphs_charged or rank.graphs, charged, "graphs-budgeted" if charged else "graphs-outside", count=count)


def _cache(question: Question, rank: RankBudget) -> AccountLine:
    if question.settings.kv_bytes:
        return _line("kv_cache", rank.kv, True, "cache-asked")
    share, total = f"{question.settings.utilization:g}", f"{rank.total / GIB:.2f}"
    return _line("kv_cache", rank.kv, True, "cache", utilization=share, total=total, budget=f"{rank.budget / GIB:.2f}")
