"""What a model holds besides its large matrices: norms, biases, attention sinks, tables of positions. In elements, on one rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.model.modelstructure import Structure
from envcheck.sizing.fields import flag, integer
from envcheck.sizing.layers import Layer
from envcheck.sizing.spec import Dimensions


def biased(structure: Structure, text: Mapping[str, Any]) -> str:
    """Letters of the matrices that have a bias; a flag that starts with `!` switches them off."""
    return "".join(letters for name, letters in structure.biases.items() if _on(text, name))


def _on(text: Mapping[str, Any], name: str) -> bool:
    if name.startswith("!"):
        return flag(text, name[1:]) is False
    return not name or bool(flag(text, name))


def norm_elements(dims: Dimensions, count: int) -> int:
    """So many norms over the hidden size."""
    return count * dims.family.structure.norm_vectors * dims.hidden


def layer_norms(dims: Dimensions) -> int:
    """The norms of one layer, the same on every rank."""
    structure = dims.family.structure
    told = integer(dims.text, structure.norms_field, least=0, most=8) if structure.norms_field else None
    moe = structure.expert_norms if dims.experts else 0
    return norm_elements(dims, (structure.norms if told is None else told) + moe) + structure.layer_scalars + _alternating(dims)


def _alternating(dims: Dimensions) -> int:
    """What a layer with alternating updates of several copies of its input adds: their mixing matrices and a low-rank bypass."""
    if not dims.family.structure.alternating:
        return 0
    copies = integer(dims.text, "altup_num_inputs", most=64) or 1
    bypass = (integer(dims.text, "laurel_rank", least=0, most=1 << 16) or 0) * 2 * dims.hidden + dims.hidden
    return copies**2 + copies**3 + (copies + 2) * dims.hidden + bypass


def attention_vectors(dims: Dimensions, layer: Layer, ranks: int) -> float:
    """Biases of the projections, norms of heads and sinks; those of split matrices are split, the output's bias is repeated."""
    structure, letters = dims.family.structure, biased(dims.family.structure, dims.text)
    head_dim = layer.head_dim or dims.head_dim
    queries, keys = dims.heads * head_dim, (layer.kv_heads or dims.kv_heads) * head_dim
    held_keys = max(head_dim, keys / ranks)
    norms = _head_norms(dims, queries, keys, head_dim, layer.mixer == "shared" and structure.shared_without_keys)
    split = queries * (2 if dims.gated_attention else 1) / ranks * ("q" in letters) + held_keys * (("k" in letters) + ("v" in letters))
    sinks = dims.heads / ranks if structure.sinks else 0.0
    return split + dims.hidden * ("o" in letters) + norms + sinks


def _head_norms(dims: Dimensions, queries: int, keys: int, head_dim: int, keyless: bool) -> int:
    structure = dims.family.structure
    switch = structure.head_norms_flag
    if structure.head_norms == "none" or (switch and not flag(dims.text, switch)):
        return 0
    if structure.head_norms == "heads":
        return queries + keys
    return head_dim if keyless else 2 * head_dim


def feed_forward_vectors(dims: Dimensions, width: int, ranks: int) -> float:
    """Biases of an ordinary feed-forward part."""
    letters = biased(dims.family.structure, dims.text)
    inputs = dims.mlp_matrices - 1
    return inputs * width / ranks * ("u" in letters) + dims.hidden * ("d" in letters)


def expert_vectors(dims: Dimensions, ranks: int) -> float:
    """What experts have besides their matrices: biases of the router and of every expert, a correction, the gate of the shared expert."""
    structure, experts = dims.family.structure, dims.experts
    if experts is None:
        return 0.0
    total = float(experts.count) if structure.router_correction else 0.0
    if structure.router_scales:
        total += dims.hidden + experts.count
    if structure.expert_biases:
        each = (dims.mlp_matrices - 1) * experts.intermediate + dims.hidden
        total += experts.count + experts.count * each / ranks
    return total + (dims.hidden if structure.shared_gate else 0)


def once(dims: Dimensions) -> float:
    """What stands once beside the embedding: positions, segments and their norms."""
    structure = dims.family.structure
    rows = dims.positions + structure.position_rows if structure.position_rows is not None else 0
    segments = integer(dims.text, "type_vocab_size", most=1 << 16) or 0 if structure.segments else 0
    copies = integer(dims.text, "altup_num_inputs", most=64) or 1 if structure.alternating else 1
    return (rows + segments) * dims.hidden + norm_elements(dims, structure.embedding_norms) + 2 * (copies - 1) * dims.hidden**2


def last(dims: Dimensions) -> float:
    """What stands behind the last layer besides the output head: the final norm, a pooling layer."""
    pooler = dims.hidden**2 + dims.hidden if dims.family.structure.pooler else 0
    return norm_elements(dims, dims.family.structure.final_norms) + pooler
