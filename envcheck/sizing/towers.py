"""Parameters of what reads images and sound: vision towers with their projector, the encoder of a speech or translation model."""

from __future__ import annotations

from envcheck.model.modelstructure import Tower
from envcheck.sizing.fields import flag, integer, items, mapping
from envcheck.sizing.parts import Vision
from envcheck.sizing.spec import Dimensions


def vision_elements(dims: Dimensions) -> float:
    """Parameters of the vision tower and its projector; of a tower that the configuration does not describe, the family's figure."""
    if dims.vision is None:
        return float(dims.family.encoder_parameters or 0) if dims.multimodal else 0.0
    tower = dims.family.structure.tower
    return _described(dims.vision, dims, tower) if tower else _plain(dims.vision, dims)


def deepstack_levels(dims: Dimensions) -> int:
    """Layers of the vision tower that feed the language model besides the last, as the configuration or else its class says."""
    tower, source = dims.family.structure.tower, mapping(dims.config, "vision_config")
    if tower is None or not tower.deepstack:
        return 0
    return len(items(source, "deepstack_visual_indexes")) if "deepstack_visual_indexes" in source else tower.deepstack


def _plain(vision: Vision, dims: Dimensions) -> float:
    """The large matrices alone."""
    merged = vision.hidden * vision.merge**2
    projector = (merged**2 if vision.merge > 1 else 0) + merged * vision.output
    return (
        vision.depth * _block(vision, dims) + projector * dims.family.encoder_outputs + _patches(vision) + vision.positions * vision.hidden
    )


def _described(vision: Vision, dims: Dimensions, tower: Tower) -> float:
    width, norm = vision.hidden, vision.hidden * tower.norm_vectors
    biases = (2 + 3 * tower.query_biases) * width + (dims.family.encoder_mlp_matrices - 1) * vision.intermediate if tower.biases else 0
    vectors = biases + tower.norms * norm + 2 * width * tower.layer_scales + 2 * _head_dim(dims, width) * tower.head_norm
    rows = 0 if tower.no_positions else vision.positions * tower.position_tables
    table = (rows + tower.class_token) * width
    stem = _patches(vision) + (tower.patch_bias + tower.class_token) * width + table + tower.outer_norms * norm
    separator = vision.output * tower.separator
    return (
        vision.depth * (_block(vision, dims) + vectors)
        + stem
        + separator
        + _projectors(vision, dims, tower, norm)
        + _head(vision, dims, tower, norm)
    )


def _head_dim(dims: Dimensions, width: int) -> int:
    source = mapping(dims.config, "vision_config")
    heads = integer(source, "num_attention_heads", "num_heads", most=1 << 12)
    return integer(source, "head_dim", most=1 << 16) or (width // heads if heads else 0)


def _block(vision: Vision, dims: Dimensions) -> int:
    return 4 * vision.hidden**2 + dims.family.encoder_mlp_matrices * vision.hidden * vision.intermediate


def _patches(vision: Vision) -> int:
    return 3 * vision.patch**2 * vision.frames * vision.hidden


def _projectors(vision: Vision, dims: Dimensions, tower: Tower, norm: int) -> float:
    """The projector to the language model's width, and one for every layer that feeds it besides."""
    if tower.projector == "merger":
        wide = vision.hidden * vision.merge**2
        merger = wide**2 + wide + wide * vision.output + vision.output
        return merger + norm + deepstack_levels(dims) * (merger + wide * tower.norm_vectors)
    wide = vision.hidden * (vision.merge**2 if tower.projector == "merged-two-layer" else 1)
    bias = vision.output if tower.projector_biases else 0
    second = 0 if tower.projector == "one-layer" else vision.output**2 + bias
    merger = (vision.hidden * vision.merge) ** 2 if tower.projector == "patch-merger" else 0
    own_norm = {"none": 0, "input": wide * tower.norm_vectors, "input-plain": wide}[tower.projector_norm]
    return wide * vision.output + bias + second + merger + own_norm


def _head(vision: Vision, dims: Dimensions, tower: Tower, norm: int) -> float:
    """A pooling layer that some towers end in: a probe, one attention and one feed-forward part."""
    if not tower.head or flag(mapping(dims.config, "vision_config"), "vision_use_head") is False:
        return 0.0
    return _block(vision, dims) + 5 * vision.hidden + vision.intermediate + norm + vision.hidden


def convolutions(dims: Dimensions) -> int:
    """The two convolutions that a speech encoder begins with."""
    bins = integer(dims.text, "num_mel_bins", most=1 << 12) or 0
    return 3 * bins * dims.hidden + dims.hidden + 3 * dims.hidden**2 + dims.hidden
