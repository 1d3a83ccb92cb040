"""The tensors of one layer on one rank, in bytes, merged as vLLM merges them: query with key and value, both feed-forward inputs."""

from __future__ import annotations

import msgspec

from envcheck.sizing.layers import Layer
from envcheck.sizing.quantization import WeightFormat
from envcheck.sizing.rank import Rank
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.vectors import attention_vectors, expert_vectors, feed_forward_vectors, layer_norms, norm_elements


class LayerTensors(msgspec.Struct, frozen=True):
    """Tensors of one layer by part, in bytes."""

    mixer: list[float]
    feed_forward: list[float]
    experts: list[float]


def layer_tensors(dims: Dimensions, layer: Layer, rank: Rank, form: WeightFormat, loaded: bool) -> LayerTensors:
    """One layer's tensors; `loaded` = as vLLM holds them, with what it folds or copies."""
    width = layer.intermediate or dims.intermediate if layer.feed_forward == "dense" else 0
    each = form.dense
    if layer.feed_forward == "experts" and dims.experts:
        width, each = dims.experts.shared, form.shared
    experts = expert_tensors(dims, rank, form) if layer.feed_forward == "experts" else []
    return LayerTensors(_mixer(dims, layer, rank, form, loaded), feed_forward_tensors(dims, width, each, rank, form), experts)


def _mixer(dims: Dimensions, layer: Layer, rank: Rank, form: WeightFormat, loaded: bool) -> list[float]:
    norms = [layer_norms(dims) * form.plain, *_layer_embedding(dims, form)]
    if layer.mixer == "none":
        return norms
    recurrent = _recurrent(dims, rank, form) if layer.mixer in ("recurrent", "parallel") else []
    if layer.mixer == "recurrent":
        return [*recurrent, *norms]
    if dims.latent:
        return [*_latent(dims, rank, form), *(_absorbed(dims, rank) if loaded else []), *norms]
    attention = attention_tensors(dims, layer, rank, form, loaded)
    if dims.family.structure.cross_attention:
        attention = [*attention, *attention, norm_elements(dims, 1) * form.plain]
    return [*attention, *recurrent, *norms]


def _layer_embedding(dims: Dimensions, form: WeightFormat) -> list[float]:
    """The gate, projection and norm through which a layer takes its part of the second embedding."""
    part = dims.hidden * dims.layer_embedding * form.plain
    return [part, part, dims.hidden * form.plain] if part else []


def attention_tensors(dims: Dimensions, layer: Layer, rank: Rank, form: WeightFormat, loaded: bool) -> list[float]:
    """Ordinary attention. Where keys serve as values, the file has no values, while vLLM loads the keys twice."""
    head_dim = layer.head_dim or dims.head_dim
    queries = dims.heads * head_dim * (2 if dims.gated_attention else 1) / rank.ranks
    keys = max(1, (layer.kv_heads or dims.kv_heads) // rank.ranks) * head_dim
    if layer.mixer == "shared" and dims.family.structure.shared_without_keys and not loaded:
        keys_and_values = 0
    else:
        keys_and_values = keys if layer.keys_are_values and not loaded else 2 * keys
    columns = queries + keys_and_values
    merged = form.tensors(dims.hidden * columns, form.attention, columns, 1 + keys_and_values // max(1, keys))
    out = form.tensors(dims.hidden * dims.heads * head_dim / rank.ranks, form.attention, dims.hidden)
    return [*merged, *out, attention_vectors(dims, layer, rank.ranks) * form.plain]


def _latent(dims: Dimensions, rank: Rank, form: WeightFormat) -> list[float]:
    mla = dims.latent
    if mla is None:
        return []
    heads, down, per_head = dims.heads / rank.ranks, mla.rank + mla.rope, mla.nope + mla.rope
    sizes: list[tuple[float, float, int]] = [
        (dims.hidden, down, 1),
        (dims.hidden, heads * per_head, 1),
    ]  # inputs, outputs, matrices in the file
    if mla.query_rank:
        sizes = [(dims.hidden, down + mla.query_rank, 2), (mla.query_rank, heads * per_head, 1)]
    sizes += [(mla.rank, heads * (mla.nope + mla.value), 1), (heads * mla.value, dims.hidden, 1)]
    vectors = mla.rank + (mla.query_rank or 0)
    if mla.index_dim and mla.index_heads:
        sizes += [(mla.query_rank or dims.hidden, mla.index_heads * mla.index_dim, 1)]
        sizes += [(dims.hidden, mla.index_dim + mla.index_heads, 2)]
        vectors += 2 * mla.index_dim
    tensors = [part for inputs, outputs, number in sizes for part in form.tensors(inputs * outputs, form.attention, outputs, number)]
    return [*tensors, vectors * form.plain]


def _absorbed(dims: Dimensions, rank: Rank) -> list[float]:
    """The up-projection once more, folded into query and output for decoding, in 16 bit."""
    mla = dims.latent
    return [dims.heads / rank.ranks * part * mla.rank * 2 for part in (mla.nope, mla.value)] if mla else []


def _recurrent(dims: Dimensions, rank: Rank, form: WeightFormat) -> list[float]:
    cell = dims.recurrent
    if cell is None:
        return []
    small = (cell.conv_width * (cell.taps + 1) + cell.vectors) / rank.ranks + cell.norms
    columns = cell.projection_in / rank.ranks
    inward = form.tensors(dims.hidden * columns, form.attention, columns)
    outward = form.tensors(dims.hidden * cell.projection_out / rank.ranks, form.attention, dims.hidden)
    return [*inward, *outward, small * form.plain]


def feed_forward_tensors(dims: Dimensions, width: int, each: float, rank: Rank, form: WeightFormat) -> list[float]:
    """An ordinary feed-forward part; nothing for no width."""
    if not width:
        return []
    one = dims.hidden * width / rank.ranks
    vectors = feed_forward_vectors(dims, width, rank.ranks) * form.plain
    inputs = dims.mlp_matrices - 1
    return [*form.tensors(inputs * one, each, inputs * width / rank.ranks, inputs), *form.tensors(one, each, dims.hidden), vectors]


def expert_tensors(dims: Dimensions, rank: Rank, form: WeightFormat) -> list[float]:
    """The routed experts, their router and what belongs to them."""
    experts = dims.experts
    if experts is None:
        return []
    wide, inputs = _padded(experts.intermediate / rank.expert_ranks, form.pad_experts_to), _padded(experts.width, form.pad_inputs_to)
    one = experts.count * inputs * wide
    merged = dims.mlp_matrices - 1
    gates = form.tensors(merged * one, form.experts, merged * experts.count * wide, merged * experts.count)
    matrices = [*gates, *form.tensors(one, form.experts, experts.count * inputs, experts.count)]
    latent = [dims.hidden * experts.width * form.dense] * 2 if experts.width != dims.hidden else []
    small = (dims.hidden * experts.count + expert_vectors(dims, rank.expert_ranks)) * form.plain
    return [*matrices, *latent, small]


def _padded(width: float, multiple: int | None) -> float:
    return -(-width // multiple) * multiple if multiple else width
