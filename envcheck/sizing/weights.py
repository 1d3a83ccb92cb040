"""Bytes of weights and persistent buffers on one rank, as "Model loading took" counts them.

Linear layers are split over the tensor-parallel ranks; key and value heads are repeated where ranks outnumber them; routers, norms and
latent down-projections are repeated on every rank; embeddings stand on the first pipeline stage, the output head on the last.
"""

from __future__ import annotations

import msgspec

from envcheck.sizing.allocator import total
from envcheck.sizing.encoders import encoder_bytes
from envcheck.sizing.layer_weights import layer_tensors
from envcheck.sizing.quantization import WeightFormat
from envcheck.sizing.rank import Rank
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.towers import deepstack_levels
from envcheck.sizing.vectors import biased, last, norm_elements, once

_VOCABULARY_MULTIPLE = 64  # rows of embedding and head are padded to this


class WeightTerms(msgspec.Struct, frozen=True):
    """Bytes on one rank, by part; `behind` = the final norm and a pooling layer, `method` = buffers of the quantization method."""

    embedding: float = 0.0
    attention: float = 0.0
    feed_forward: float = 0.0
    experts: float = 0.0
    head: float = 0.0
    encoder: float = 0.0
    rotary: float = 0.0
    method: float = 0.0
    behind: float = 0.0

    @property
    def total(self) -> float:
        """All parts."""
        return float(sum(msgspec.structs.astuple(self)))


def weight_terms(
    dims: Dimensions, rank: Rank, form: WeightFormat, text_only: bool = False, pooling: bool = False, batched_tokens: int = 0
) -> WeightTerms:
    """Bytes by part on one rank; `batched_tokens` = rows of the buffers that some models keep for their encoder's outputs."""
    rows = padded_rows(dims.vocab)
    terms = _terms(dims, rank, form, rows, text_only, pooling or dims.headless, loaded=True)
    deep = 0 if text_only else deepstack_levels(dims)
    return msgspec.structs.replace(terms, encoder=terms.encoder + deep * batched_tokens * dims.hidden * form.plain)


def padded_rows(vocabulary: int) -> int:
    """Rows of an embedding or a head as vLLM allocates them."""
    return -(-vocabulary // _VOCABULARY_MULTIPLE) * _VOCABULARY_MULTIPLE


def checkpoint_bytes(dims: Dimensions, form: WeightFormat) -> float:
    """The whole model's bytes as a checkpoint of this format weighs: no padding, no buffers, nothing folded in twice."""
    return _terms(dims, Rank(), form.stored(), dims.vocab, text_only=False, headless=dims.headless, loaded=False).total


def _terms(dims: Dimensions, rank: Rank, form: WeightFormat, rows: int, text_only: bool, headless: bool, loaded: bool) -> WeightTerms:
    table = rows * dims.hidden / rank.ranks
    has_head = rank.is_last and not headless
    head = form.tensors(table, form.head) if has_head and not (dims.tied and rank.is_first) else []
    bias = [rows / rank.ranks * form.plain] if has_head and "h" in biased(dims.family.structure, dims.text) else []
    layers = [(group.count * rank.share, layer_tensors(dims, group.layer, rank, form, loaded)) for group in dims.layers]
    first = [table * form.plain, *per_layer_embedding(dims, rank, form), once(dims) * form.plain] if rank.is_first else []
    absent = norm_elements(dims, 1) * form.plain if rank.is_first and dims.family.structure.shared_first_norm else 0.0
    return WeightTerms(
        embedding=total(first, loaded),
        attention=sum(count * total(tensors.mixer, loaded) for count, tensors in layers) - absent,
        feed_forward=sum(count * total(tensors.feed_forward, loaded) for count, tensors in layers),
        experts=sum(count * total(tensors.experts, loaded) for count, tensors in layers),
        head=total([*head, *bias], loaded),
        encoder=0.0 if text_only or not rank.is_first else encoder_bytes(dims, rank, form),
        rotary=rotary_bytes(dims, form) if loaded else 0.0,
        method=form.extra if loaded else 0.0,
        behind=last(dims) * form.plain if rank.is_last else 0.0,
    )


def rotary_bytes(dims: Dimensions, form: WeightFormat) -> float:
    """The table of sines and cosines, the same on every rank; latent attention keeps it in single precision."""
    return float(dims.rotary_rows) * dims.rotary_dim * (4 if dims.latent else form.plain)


def per_layer_embedding(dims: Dimensions, rank: Rank, form: WeightFormat) -> list[float]:
    """A second embedding that every layer takes a part of, and the projection into it."""
    width, count = dims.layer_embedding, dims.layer_count
    if not width:
        return []
    return [dims.layer_vocab * width * count / rank.ranks * form.plain, dims.hidden * width * count * form.plain, width * form.plain]
