"""How each figure of the account is arrived at: the formula, what goes into it, the releases it holds for, where it was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from envcheck.model.budget import Derivation
from envcheck.model.memoryfacts import MemoryRecord
from envcheck.model.text import Text
from envcheck.model.units import GIB, gib
from envcheck.sizing.budget import RankBudget, rank_budget
from envcheck.sizing.cold import cold_record
from envcheck.sizing.encoder_peak import encoder_record
from envcheck.sizing.graphs import graph_count, graph_record
from envcheck.sizing.kv_cache import bytes_per_token, cache_layers, kv_format
from envcheck.sizing.non_torch import non_torch_record
from envcheck.sizing.peaks import forward_record, sampler_record
from envcheck.sizing.question import Question

Inputs = dict[str, Any]


def derivations(question: Question) -> dict[str, Derivation]:
    """By term of the account, and `bytes_per_token`; nothing where the budget cannot be drawn up."""
    rank = rank_budget(question, question.stages[0])
    if rank is None:
        return {}
    made = (
        *_weights(question),
        *_draft(question),
        *_lora(question),
        *_constants(question, rank),
        *_peaks(question, rank),
        *_graphs(question),
        *_cache(question, rank),
    )
    return dict(made)


def _of(term: str, inputs: Inputs, records: Sequence[MemoryRecord | None] = (), parts: dict[str, float] | None = None) -> Derivation:
    there = [record for record in records if record is not None]
    ranges = dict.fromkeys(record.releases for record in there if record.releases)
    sources = dict.fromkeys(source for record in there for source in record.sources)
    return Derivation(
        formula=Text(f"size.formula.{term}"), inputs=inputs, releases="; ".join(ranges), sources=tuple(sources), parts=parts or {}
    )


def _model(question: Question) -> Inputs:
    dims = question.dims
    said = {
        "layers": dims.layer_count,
        "hidden_size": dims.hidden,
        "attention_heads": dims.heads,
        "key_value_heads": dims.kv_heads,
        "head_dim": dims.head_dim,
        "intermediate_size": dims.intermediate,
        "vocab_size": dims.vocab,
        "experts": dims.experts.count if dims.experts else 0,
    }
    return {name: value for name, value in said.items() if value}


def _weights(question: Question) -> Iterator[tuple[str, Derivation]]:
    settings, inputs = question.settings, question.inputs
    ranks: Inputs = {"tensor_parallel_size": settings.tensor_ranks, "pipeline_parallel_size": settings.stages}
    if inputs.weights_gib is not None:
        yield "weights", _of("weights-measured", {"weights_gib": inputs.weights_gib})
    elif question.dims.missing or not question.form.known:
        whole = gib(inputs.weights_bytes) if inputs.weights_bytes else 0.0
        yield "weights", _of("weights-checkpoint", {"checkpoint_gib": round(whole, 4), **ranks})
    else:
        terms = msgspec.structs.asdict(question.weight_parts(question.stages[0]))
        parts = {name: figure for name, size in terms.items() if (figure := round(gib(size), 4))}
        shape = {"format": question.form.name or f"{settings.dtype_bytes * 8} bit", **_model(question), **ranks}
        records = [record for record in question.rules.quantization if question.form.name in record.names]
        family = [question.dims.family] if question.dims.family.model_types else []
        yield "weights", _of("weights", shape, [*records, *family], parts)


def _draft(question: Question) -> Iterator[tuple[str, Derivation]]:
    draft, last = question.settings.draft, question.stages[-1]
    if draft is None or question.inputs.weights_gib is not None:
        return
    from envcheck.sizing.speculative import draft_terms  # noqa: PLC0415  # few servers speculate

    terms = msgspec.structs.asdict(draft_terms(draft, question.dims, last, question.form, question.rules.drafts))
    said: Inputs = {"method": draft.kind, "num_speculative_tokens": draft.tokens, "draft_tensor_parallel_size": draft.ranks}
    said |= {"layers": draft.layers or (draft.dims.layer_count if draft.dims else 0), "hidden_size": (draft.dims or question.dims).hidden}
    yield (
        "draft",
        _of("draft", said, [question.rules.drafts], {name: part for name, size in terms.items() if (part := round(gib(size), 4))}),
    )


def _lora(question: Question) -> Iterator[tuple[str, Derivation]]:
    settings, lora, rule = question.settings, question.settings.lora, question.rules.lora
    if lora is None or rule is None or question.inputs.weights_gib is not None:
        return
    from envcheck.sizing.lora import host_bytes, lora_terms  # noqa: PLC0415  # few servers have adapters

    terms = lora_terms(question.dims, lora, question.stages[0], rule, settings.batched_tokens, settings.sequences)
    said: Inputs = {"max_loras": lora.loras, "max_lora_rank": lora.rank, "bytes_a_value": lora.value_bytes, "fully_sharded": lora.sharded}
    said |= {"max_cpu_loras": lora.cpu_loras, "host_gib": round(gib(host_bytes(question.dims, lora, rule)), 4)}
    parts = {name: part for name, size in msgspec.structs.asdict(terms).items() if (part := round(gib(size), 4))}
    yield "lora", _of("lora", said, [rule], parts)


def _constants(question: Question, rank: RankBudget) -> Iterator[tuple[str, Derivation]]:
    record = non_torch_record(question.inputs.card, question.settings, question.rules, question.runner)
    inputs = {"tensor_parallel_size": question.settings.tensor_ranks, "gib": record.gib if record else 0.0}
    yield "non_torch", _of("non_torch", inputs, [record])
    if rank.peaks.buffers and question.rules.accounting.charges_buffers:
        rows = {"max_num_seqs": question.settings.sequences, "vocab_size": question.dims.vocab}
        yield "buffers", _of("buffers", rows, [question.rules.accounting])
    if rank.others:
        yield "others", _of("others", {"free_gib": round(gib(question.inputs.card.free_bytes or 0), 4)}, [question.rules.accounting])


def _peaks(question: Question, rank: RankBudget) -> Iterator[tuple[str, Derivation]]:
    settings, rules, peak = question.settings, question.rules, rank.peaks
    forward, sampler = forward_record(rules, question.runner), sampler_record(settings, rules, question.runner)
    cold = cold_record(rules, question.runner, question.inputs.card.capability)
    tokens = {"max_num_batched_tokens": settings.batched_tokens, **_model(question)}
    rows = {"max_num_seqs": settings.sequences, "vocab_size": question.dims.vocab}
    if peak.forward:
        yield "activation", _of("activation", tokens, [forward])
    if peak.sampler:
        yield "sampler", _of("sampler", rows, [sampler])
    if peak.workspace:
        yield "experts", _of("experts", tokens, [forward])
    if peak.encoder:
        family = [question.dims.family] if question.dims.family.model_types else []
        yield "encoder", _of("encoder", dict(settings.limits), [encoder_record(question.dims, rules), *family])
    if peak.cold or peak.cold_doubt:
        yield "cold_start", _of("cold_start", tokens, [cold])


def _graphs(question: Question) -> Iterator[tuple[str, Derivation]]:
    record = graph_record(question.dims, question.rules, question.runner)
    count = graph_count(question.settings, question.rules)
    if record is not None and count:
        inputs = {"graphs": count, "layers": question.dims.layer_count, "base_gib": record.base_gib}
        inputs |= {"mib_per_graph": record.mib_per_graph, "mib_per_graph_and_layer": record.mib_per_graph_layer}
        yield "cuda_graphs", _of("cuda_graphs", inputs, [record, question.rules.graph_sizes, question.rules.accounting])


def _cache(question: Question, rank: RankBudget) -> Iterator[tuple[str, Derivation]]:
    settings, rules = question.settings, question.rules
    budget = {"total_gib": round(rank.total / GIB, 4), "gpu_memory_utilization": settings.utilization}
    yield "kv_cache", _of("kv_cache", budget, [rules.accounting, rules.defaults])
    if question.dims.missing:
        return
    layers = cache_layers(question.dims, settings, rules.kv_layout, rules.facts.kv_formats)
    form = kv_format(settings, rules.facts.kv_formats)
    parts = {f"{layer.count:g} x {layer.keeps}": round(layer.bytes_per_token or layer.state_bytes, 2) for layer in layers}
    inputs = {"kv_cache_dtype": settings.kv_dtype, "block_size": settings.block_size, "sum": round(bytes_per_token(layers), 1)}
    inputs |= {"key_value_heads": question.dims.kv_heads, "head_dim": question.dims.head_dim, "bytes_a_value": settings.dtype_bytes}
    yield "bytes_per_token", _of("bytes_per_token", inputs, [rules.kv_layout, form], parts)
