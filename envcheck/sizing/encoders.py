"""Bytes of what encodes images, sound or a source text, on one rank."""

from __future__ import annotations

from envcheck.sizing.layer_weights import attention_tensors, feed_forward_tensors
from envcheck.sizing.layers import Layer
from envcheck.sizing.quantization import WeightFormat
from envcheck.sizing.rank import Rank
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.towers import convolutions, vision_elements
from envcheck.sizing.vectors import norm_elements


def encoder_bytes(dims: Dimensions, rank: Rank, form: WeightFormat) -> float:
    """Bytes of the vision tower, and of the encoder of a model with encoder and decoder."""
    tower = vision_elements(dims) * form.plain
    return (tower / rank.ranks if dims.family.encoder_sharded else tower) + _stack(dims, rank, form)


def _stack(dims: Dimensions, rank: Rank, form: WeightFormat) -> float:
    encoder, structure = dims.encoder, dims.family.structure
    if encoder is None:
        return 0.0
    layer = Layer("full", "dense", intermediate=encoder.intermediate)
    tensors = attention_tensors(dims, layer, rank, form, loaded=True)
    tensors += feed_forward_tensors(dims, encoder.intermediate, form.dense, rank, form)
    small = norm_elements(dims, 2 * encoder.layers + structure.final_norms + structure.embedding_norms)
    if structure.position_rows is not None:
        small += (encoder.positions + (0 if structure.convolved_audio else structure.position_rows)) * dims.hidden
    if structure.convolved_audio:
        small += convolutions(dims)
    if structure.relative_positions:
        small += 2 * dims.relative_buckets * dims.heads
    return encoder.layers * sum(tensors) + small * form.plain
