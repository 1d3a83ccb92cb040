"""The parts of a model that not every model has: experts, latent attention, recurrent state, a vision tower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from envcheck.sizing.fields import flag, integer, mapping, number, word

_PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "moe_top_k", "experts_per_token")

RecurrentKind = Literal["delta", "mamba2", "mamba1", "kda", "lightning", "convolution"]


class Experts(msgspec.Struct, frozen=True):
    """A mixture of experts: each of `intermediate` width over `width` inputs; `shared` = width that every token passes besides."""

    count: int
    per_token: int
    intermediate: int
    shared: int
    width: int


class Latent(msgspec.Struct, frozen=True):
    """Multi-head latent attention: `rank` + `rope` values cached a token; `index_dim` of a sparse-attention indexer."""

    rank: int
    rope: int
    nope: int
    value: int
    query_rank: int | None = None
    index_dim: int | None = None
    index_heads: int | None = None


class Recurrent(msgspec.Struct, frozen=True):
    """Recurrent layers, before sharding: a convolution of `taps` + 1 over `conv_width` and `state_values` of state; projections in and out.

    `vectors` = parameters besides, in elements, split over the ranks; `norms` = those that every rank repeats.
    """

    kind: RecurrentKind
    taps: int
    conv_width: int
    state_values: int
    projection_in: int
    projection_out: int
    state_dtype: str | None = None
    vectors: int = 0
    norms: int = 0


class Vision(msgspec.Struct, frozen=True):
    """A vision tower as far as its size goes; `output` = hidden size of the language model."""

    depth: int
    hidden: int
    intermediate: int
    patch: int
    merge: int
    output: int
    frames: int = 1
    positions: int = 0


def experts_of(text: Mapping[str, Any]) -> Experts | None:
    """The mixture, or None for a dense model."""
    count = integer(text, "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts", most=1 << 20)
    hidden = integer(text, "hidden_size")
    if not count or count < 2 or not hidden or flag(text, "enable_moe_block") is False:
        return None
    intermediate = integer(text, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
    if not intermediate:
        return None
    per_token = integer(text, *_PER_TOKEN, most=count)
    latent = integer(text, "moe_latent_size")
    return Experts(count, per_token or 1, intermediate, _shared_width(text, intermediate), latent or hidden)


def _shared_width(text: Mapping[str, Any], intermediate: int) -> int:
    told = integer(text, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size", least=0)
    if told is None:
        shared = integer(text, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", least=0, most=1024) or 0
        told = shared * intermediate
    beside = integer(text, "intermediate_size") if flag(text, "enable_moe_block") else None
    return told + (beside or 0)


def latent_of(text: Mapping[str, Any]) -> Latent | None:
    """Latent attention, or None for ordinary heads."""
    rank, rope = integer(text, "kv_lora_rank"), integer(text, "qk_rope_head_dim")
    nope, value = integer(text, "qk_nope_head_dim"), integer(text, "v_head_dim")
    if rank is None or rope is None or nope is None or value is None:
        return None
    return Latent(rank, rope, nope, value, integer(text, "q_lora_rank"), integer(text, "index_head_dim"), integer(text, "index_n_heads"))


def recurrent_of(text: Mapping[str, Any]) -> Recurrent | None:
    """The recurrent layers' shape, by the fields that describe it."""
    for read in (_delta, _kda, _mamba2, _mamba1, _lightning, _convolution):
        found = read(text)
        if found:
            return found
    return None


def _delta(text: Mapping[str, Any]) -> Recurrent | None:
    keys, key_dim = integer(text, "linear_num_key_heads"), integer(text, "linear_key_head_dim")
    values, value_dim = integer(text, "linear_num_value_heads"), integer(text, "linear_value_head_dim")
    if not (keys and key_dim and values and value_dim):
        return None
    taps = (integer(text, "linear_conv_kernel_dim", most=64) or 4) - 1
    wide = 2 * keys * key_dim + values * value_dim
    return Recurrent(
        "delta",
        taps,
        wide,
        values * key_dim * value_dim,
        wide + values * value_dim + 2 * values,
        values * value_dim,
        word(text, "mamba_ssm_dtype"),
        vectors=2 * values,
        norms=value_dim,
    )


def _kda(text: Mapping[str, Any]) -> Recurrent | None:
    linear = mapping(text, "linear_attn_config")
    heads, dim = integer(linear, "num_heads"), integer(linear, "head_dim")
    if not (heads and dim):
        return None
    taps = (integer(linear, "short_conv_kernel_size", most=64) or 4) - 1
    return Recurrent("kda", taps, 3 * heads * dim, heads * dim * dim, 4 * heads * dim, heads * dim)


def _mamba2(text: Mapping[str, Any]) -> Recurrent | None:
    alone = word(text, "model_type") == "mamba2"
    heads = integer(text, "mamba_num_heads", "mamba_n_heads", *(("num_heads",) if alone else ()))
    dim = integer(text, "mamba_head_dim", "mamba_d_head", *(("head_dim",) if alone else ()))
    state = integer(text, "ssm_state_size", "mamba_d_state", "state_size")
    if heads and not dim and (hidden := integer(text, "hidden_size")):
        dim = int((number(text, "mamba_expand", "expand", most=64) or 2) * hidden) // heads
    if not (heads and dim and state):
        return None
    groups = integer(text, "n_groups", "mamba_n_groups", most=heads) or 1
    inner, taps = heads * dim, (integer(text, "conv_kernel", "mamba_d_conv", most=64) or 4) - 1
    wide = inner + 2 * groups * state
    vectors = 3 * heads + wide * _convolution_bias(text)
    norms = inner if flag(text, "mamba_rms_norm") is not False else 0
    cache = word(text, "mamba_ssm_cache_dtype")
    return Recurrent("mamba2", taps, wide, heads * dim * state, wide + inner + heads, inner, cache, vectors, norms)


def _convolution_bias(text: Mapping[str, Any]) -> bool:
    return flag(text, "use_conv_bias") is not False and flag(text, "mamba_conv_bias") is not False


def _mamba1(text: Mapping[str, Any]) -> Recurrent | None:
    state, hidden = integer(text, "mamba_d_state", "state_size"), integer(text, "hidden_size")
    if not (state and hidden):
        return None
    inner = integer(text, "intermediate_size") if word(text, "model_type") in ("mamba", "falcon_mamba") else None
    inner = inner or int((number(text, "mamba_expand", "expand", most=64) or 2) * hidden)
    taps = (integer(text, "mamba_d_conv", "conv_kernel", most=64) or 4) - 1
    steps = integer(text, "mamba_dt_rank", "time_step_rank") or -(-hidden // 16)
    vectors = inner * (steps + 2 * state) + (steps + 1) * inner + inner * state + inner + inner * _convolution_bias(text)
    norms = steps + 2 * state if word(text, "model_type") == "jamba" else 0
    return Recurrent("mamba1", taps, inner, inner * state, 2 * inner, inner, None, vectors, norms)


def _lightning(text: Mapping[str, Any]) -> Recurrent | None:
    heads, dim = integer(text, "num_attention_heads"), integer(text, "head_dim")
    if not (heads and dim and isinstance(text.get("attn_type_list"), list)):
        return None
    return Recurrent("lightning", 0, 0, heads * dim * dim, 4 * heads * dim, heads * dim, "float32")


def _convolution(text: Mapping[str, Any]) -> Recurrent | None:
    taps, hidden = integer(text, "conv_L_cache", most=64), integer(text, "hidden_size")
    return Recurrent("convolution", taps - 1, hidden, 0, 3 * hidden, hidden) if taps and hidden else None


class Encoder(msgspec.Struct, frozen=True):
    """The encoder of a model with encoder and decoder: layers, their feed-forward width, the tokens it takes at most."""

    layers: int
    intermediate: int
    positions: int


def encoder_of(text: Mapping[str, Any], width: int, positions: int) -> Encoder | None:
    """The encoder, or None where there is none; `width` and `positions` are the decoder's, which count where it has none of its own."""
    layers = integer(text, "encoder_layers", most=1024)
    if layers is None and integer(text, "num_decoder_layers"):
        layers = integer(text, "num_layers", most=1024)
    if layers is None or flag(text, "is_encoder_decoder") is False:
        return None
    return Encoder(layers, integer(text, "encoder_ffn_dim", most=1 << 26) or width, integer(text, "max_source_positions") or positions)


def vision_of(config: Mapping[str, Any], hidden: int) -> Vision | None:
    """The vision tower, or None where the configuration has none or does not say its size."""
    source = mapping(config, "vision_config", "vision_cfg", "vision_tower_config")
    depth = integer(source, "depth", "num_hidden_layers", "layers", most=1024)
    width = integer(source, "embed_dim", "hidden_size", "width")
    if not depth or not width:
        return None
    intermediate = integer(source, "intermediate_size") or int((number(source, "mlp_ratio", most=64) or 4) * width)
    patch = _side(source, "patch_size", "spatial_patch_size") or 14
    image = _side(source, "image_size")
    positions = integer(source, "num_position_embeddings", "position_embedding_size") or (min(image // patch, 256) ** 2 if image else 0)
    return Vision(
        depth,
        width,
        intermediate,
        patch,
        integer(source, "spatial_merge_size", most=64) or _merge(config),
        integer(source, "out_hidden_size") or hidden,
        integer(source, "temporal_patch_size", most=64) or 1,
        positions,
    )


def _side(source: Mapping[str, Any], *names: str) -> int | None:
    """An edge in pixels, stated once or for both edges."""
    for name in names:
        value = source.get(name)
        edge = integer({name: value[0]} if isinstance(value, list) and value else source, name, most=1 << 20)
        if edge:
            return edge
    return None


def _merge(config: Mapping[str, Any]) -> int:
    """Patches along one edge that become one token: stated beside the tower, or as the share of edges that is kept."""
    ratio = number(config, "downsample_ratio", least=1 / 64, most=1)
    return integer(config, "spatial_merge_size", most=64) or (round(1 / ratio) if ratio else 1)
