"""Bytes of weights and persistent buffers on one rank, as "Model loading took" counts them.

Linear layers are split over the tensor-parallel ranks; key and value heads are repeated where ranks outnumber them; routers, norms and
latent down-projections are repeated on every rank; embeddings stand on the first pipeline stage, the output head on the last.
"""

from __future__ import annotations

import msgspec

from envcheck.sizing.layers import LayerGroup
from envcheck.sizing.parts import Vision
from envcheck.sizing.quantization import WeightFormat
from envcheck.sizing.spec import Dimensions

_VOCABULARY_MULTIPLE = 64  # rows of embedding and head are padded to this


class Rank(msgspec.Struct, frozen=True):
    """Which part of a model one GPU holds: `ranks` tensor-parallel, `expert_ranks` sharing the experts, `stage` of `stages`."""

    ranks: int = 1
    expert_ranks: int = 1
    stage: int = 0
    stages: int = 1

    @property
    def share(self) -> float:
        """Share of the layers on this stage."""
        return 1 / self.stages

    @property
    def is_first(self) -> bool:
        """Whether the embeddings are here."""
        return self.stage == 0

    @property
    def is_last(self) -> bool:
        """Whether the output head is here."""
        return self.stage == self.stages - 1


class WeightTerms(msgspec.Struct, frozen=True):
    """Bytes on one rank, by part."""

    embedding: float = 0.0
    attention: float = 0.0
    feed_forward: float = 0.0
    experts: float = 0.0
    head: float = 0.0
    encoder: float = 0.0
    rotary: float = 0.0
    method: float = 0.0

    @property
    def total(self) -> float:
        """All parts."""
        return self.embedding + self.attention + self.feed_forward + self.experts + self.head + self.encoder + self.rotary + self.method


def weight_terms(dims: Dimensions, rank: Rank, form: WeightFormat, text_only: bool = False, pooling: bool = False) -> WeightTerms:
    """Bytes by part on one rank."""
    table = -(-dims.vocab // _VOCABULARY_MULTIPLE) * _VOCABULARY_MULTIPLE * dims.hidden / rank.ranks * form.plain
    needs_head = rank.is_last and not pooling and not (dims.tied and rank.is_first)
    return WeightTerms(
        embedding=table if rank.is_first else 0.0,
        attention=sum(_attention(dims, group, rank, form) for group in dims.layers) * rank.share,
        feed_forward=sum(_feed_forward(dims, group, rank, form) for group in dims.layers) * rank.share,
        experts=sum(_experts(dims, group, rank, form) for group in dims.layers) * rank.share,
        head=table * (form.head / form.plain) if needs_head else 0.0,
        encoder=0.0 if text_only or not rank.is_first else _encoder(dims, rank) * form.plain,
        rotary=rotary_bytes(dims, form),
        method=form.extra,
    )


def checkpoint_bytes(dims: Dimensions, form: WeightFormat) -> float:
    """The whole model's bytes on one GPU without buffers: what a checkpoint of this format weighs."""
    terms = weight_terms(dims, Rank(), form)
    return terms.total - terms.rotary - terms.method - _absorbed(dims, 1) * sum(g.count for g in dims.layers if g.layer.mixer != "none")


def rotary_bytes(dims: Dimensions, form: WeightFormat) -> float:
    """The table of sines and cosines, the same on every rank; latent attention keeps it in single precision."""
    return float(dims.rotary_rows) * dims.rotary_dim * (4 if dims.latent else form.plain)


def _attention(dims: Dimensions, group: LayerGroup, rank: Rank, form: WeightFormat) -> float:
    layer, norms = group.layer, 2 * dims.hidden * form.plain
    if layer.mixer == "none":
        return group.count * norms
    if layer.mixer == "recurrent":
        return group.count * (_recurrent(dims, rank, form) + norms)
    if dims.latent:
        return group.count * (_latent(dims, rank, form) + _absorbed(dims, rank.ranks) + norms)
    head_dim = layer.head_dim or dims.head_dim
    queries = dims.heads * head_dim * (2 if dims.gated_attention else 1)
    keys = max(1, (layer.kv_heads or dims.kv_heads) // rank.ranks) * head_dim
    columns = queries / rank.ranks + dims.heads * head_dim / rank.ranks + 2 * keys
    return group.count * (dims.hidden * columns * form.attention + norms)


def _latent(dims: Dimensions, rank: Rank, form: WeightFormat) -> float:
    mla = dims.latent
    if mla is None:
        return 0.0
    per_head = mla.nope + mla.rope
    query = dims.hidden * dims.heads * per_head / rank.ranks
    if mla.query_rank:
        query = dims.hidden * mla.query_rank + mla.query_rank * dims.heads * per_head / rank.ranks
    down = dims.hidden * (mla.rank + mla.rope)
    up = mla.rank * dims.heads * (mla.nope + mla.value) / rank.ranks
    out = dims.heads * mla.value * dims.hidden / rank.ranks
    index = 0.0
    if mla.index_dim and mla.index_heads:
        index = mla.index_heads * mla.index_dim * (mla.query_rank or dims.hidden) + dims.hidden * (mla.index_dim + mla.index_heads)
    return (query + down + up + out + index) * form.attention


def _absorbed(dims: Dimensions, ranks: int) -> float:
    """The up-projection once more, folded into query and output for decoding, in 16 bit."""
    mla = dims.latent
    return dims.heads / ranks * (mla.nope + mla.value) * mla.rank * 2 if mla else 0.0


def _recurrent(dims: Dimensions, rank: Rank, form: WeightFormat) -> float:
    cell = dims.recurrent
    if cell is None:
        return 0.0
    convolution = cell.conv_width * (cell.taps + 1) * form.plain
    return (dims.hidden * (cell.projection_in + cell.projection_out) * form.attention + convolution) / rank.ranks


def _feed_forward(dims: Dimensions, group: LayerGroup, rank: Rank, form: WeightFormat) -> float:
    layer = group.layer
    if layer.feed_forward == "dense":
        width, each = layer.intermediate or dims.intermediate, form.dense
    elif layer.feed_forward == "experts" and dims.experts:
        width, each = dims.experts.shared, form.shared
    else:
        return 0.0
    return group.count * dims.family.mlp_matrices * dims.hidden * width / rank.ranks * each


def _experts(dims: Dimensions, group: LayerGroup, rank: Rank, form: WeightFormat) -> float:
    experts = dims.experts
    if group.layer.feed_forward != "experts" or experts is None:
        return 0.0
    wide = experts.intermediate / rank.expert_ranks
    if form.pad_experts_to:
        wide = -(-wide // form.pad_experts_to) * form.pad_experts_to
    latent = 2 * dims.hidden * experts.width * form.dense if experts.width != dims.hidden else 0.0
    inputs = -(-experts.width // form.pad_inputs_to) * form.pad_inputs_to if form.pad_inputs_to else experts.width
    matrices = experts.count * dims.family.mlp_matrices * inputs * wide * form.experts
    return group.count * (matrices + dims.hidden * experts.count * form.plain + latent)


def _encoder(dims: Dimensions, rank: Rank) -> float:
    """Parameters of the vision tower and its projector on one rank."""
    vision = dims.vision
    total = _tower(vision, dims) if vision else float(dims.family.encoder_parameters or 0) if dims.multimodal else 0.0
    return total if not dims.family.encoder_sharded else total / rank.ranks


def _tower(vision: Vision, dims: Dimensions) -> float:
    block = 4 * vision.hidden**2 + dims.family.encoder_mlp_matrices * vision.hidden * vision.intermediate
    merged = vision.hidden * vision.merge**2
    projector = (merged**2 if vision.merge > 1 else 0) + merged * vision.output
    patches = 3 * vision.patch**2 * vision.frames * vision.hidden
    return vision.depth * block + projector * dims.family.encoder_outputs + patches + vision.positions * vision.hidden
