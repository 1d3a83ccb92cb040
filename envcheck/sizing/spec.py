"""A model's dimensions, read from its `config.json`: lenient to what is missing, so that the rest still counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from envcheck.model.memoryfacts import Family
from envcheck.sizing.fields import flag, integer, items, mapping, number, word
from envcheck.sizing.layers import MOST_LAYERS, LayerGroup, layer_groups
from envcheck.sizing.parts import (
    Encoder,
    Experts,
    Latent,
    Recurrent,
    Vision,
    encoder_of,
    experts_of,
    latent_of,
    recurrent_of,
    vision_of,
)

_DTYPE_BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}
_LENGTHS = (
    "max_position_embeddings",
    "max_target_positions",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "seq_len",
)
_WIDTHS = ("intermediate_size", "ffn_hidden_size", "n_inner", "d_ff", "ffn_dim", "decoder_ffn_dim")
_HEADS = ("num_attention_heads", "decoder_attention_heads", "n_head", "num_heads", "n_heads")
_COUNTS = ("num_decoder_layers", "decoder_layers", "num_hidden_layers", "n_layer", "num_layers", "n_layers")
_TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
_HEADLESS = ("Model", "ForSequenceClassification", "ForTokenClassification")
_GENERATING = ("LMHeadModel", "ChatModel", "GLMModel")  # end in Model too, and have a head
_PLAIN_FAMILY = Family(model_types=[], sources=[])
_UNSCALED_ROPE = ("su", "longrope", "llama3", "default", "mrope")


class Dimensions(msgspec.Struct, frozen=True, kw_only=True):
    """A model as the arithmetic needs it, in elements; 0 where not said. `missing` names the fields that were not to be had."""

    model_type: str
    architecture: str
    family: Family
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    layers: tuple[LayerGroup, ...]
    positions: int
    context: int
    dtype: str
    tied: bool
    window: int
    rotary_dim: int
    rotary_rows: int
    draft_layers: int
    gated_attention: bool
    multimodal: bool
    experts: Experts | None
    latent: Latent | None
    recurrent: Recurrent | None
    vision: Vision | None
    encoder: Encoder | None
    headless: bool
    mlp_matrices: int
    layer_embedding: int
    layer_vocab: int
    relative_buckets: int
    config: Mapping[str, Any]
    text: Mapping[str, Any]
    missing: tuple[str, ...]

    @property
    def layer_count(self) -> int:
        """Layers of every kind, drafts apart."""
        return sum(group.count for group in self.layers)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], families: Sequence[Family] = ()) -> Dimensions:
        """The dimensions of a configuration; never raises. `families` = what configurations leave unsaid, by model type."""
        family = family_of(config, families)
        text = text_part(config, family)
        hidden = integer(text, "hidden_size", "n_embd", "d_model", most=1 << 24) or 0
        heads = integer(text, *_HEADS, most=1 << 16) or 0
        head_dim = integer(text, "head_dim", "kv_channels", "d_kv", most=1 << 16) or (hidden // heads if heads else 0)
        count = integer(text, *_COUNTS, most=MOST_LAYERS) or len(items(text, "layers_block_type"))
        vocab = integer(text, "vocab_size", most=1 << 26) or 0
        latent, experts = latent_of(text), experts_of(text)
        intermediate = integer(text, *_WIDTHS, most=1 << 26) or (0 if experts else 4 * hidden)
        layers, recurrent = layer_groups(text, count, experts is not None), recurrent_of(text)
        attends = not layers or recurrent is None or any(group.layer.mixer != "recurrent" for group in layers)
        said = {"hidden_size": hidden, "num_attention_heads": heads or not attends, "num_hidden_layers": count, "vocab_size": vocab}
        rotary = latent.rope if latent else _rotary_dim(text, head_dim)
        positions = integer(text, *_LENGTHS) or 0
        return cls(
            model_type=word(config, "model_type") or "",
            architecture=_architecture(config),
            family=family,
            hidden=hidden,
            heads=heads,
            kv_heads=_kv_heads(text, heads),
            head_dim=head_dim,
            intermediate=intermediate,
            vocab=vocab,
            layers=layers,
            positions=positions,
            context=_context(text, positions, family),
            dtype=word(text, "torch_dtype", "dtype") or word(config, "torch_dtype", "dtype") or "bfloat16",
            tied=_tied(config, text, family),
            window=integer(text, "sliding_window", "sliding_window_size") or integer(text, "attention_chunk_size") or 0,
            rotary_dim=rotary,
            rotary_rows=int(_rotary_rows(text, positions) * family.rope_rows_factor),
            draft_layers=integer(text, "num_nextn_predict_layers", "mtp_num_hidden_layers", least=0, most=64) or 0,
            gated_attention=bool(flag(text, "attn_output_gate")),
            multimodal=bool(family.encoder) or "vision_config" in config or "audio_config" in config,
            experts=experts,
            latent=latent,
            recurrent=recurrent,
            vision=vision_of(config, hidden),
            encoder=encoder_of(text, intermediate, positions),
            headless=family.structure.encoder_only or answers_with_vectors(_architecture(config)),
            layer_embedding=integer(text, "hidden_size_per_layer_input", least=0, most=1 << 16) or 0,
            layer_vocab=integer(text, "vocab_size_per_layer_input", most=1 << 26) or vocab,
            relative_buckets=integer(text, "relative_attention_num_buckets", most=1 << 16) or 0,
            mlp_matrices=3 if flag(text, "is_gated_act") else family.mlp_matrices,
            config=config,
            text=text,
            missing=tuple(name for name, value in said.items() if not value),
        )


def dtype_bytes(name: str | None) -> int | None:
    """Bytes of a floating-point type by its name, with or without `torch.`; None where unknown."""
    return _DTYPE_BYTES.get((name or "").lower().removeprefix("torch."))


def family_of(config: Mapping[str, Any], families: Sequence[Family]) -> Family:
    """The family of a configuration by its own model type, else by its text part's."""
    nested = mapping(config, *_TEXT_PARTS)
    for name in (word(config, "model_type"), word(nested, "model_type")):
        for family in families:
            if name in family.model_types:
                return family
    return _PLAIN_FAMILY


def text_part(config: Mapping[str, Any], family: Family) -> dict[str, Any]:
    """The language model's fields: the family's defaults under the outer configuration under its text part."""
    nested = mapping(config, *_TEXT_PARTS)
    inner = mapping(nested, *_TEXT_PARTS)
    outer = {key: value for key, value in config.items() if key not in _TEXT_PARTS and not key.startswith(("vision", "audio"))}
    return {**family.defaults, **outer, **nested, **inner}


def answers_with_vectors(architecture: str) -> bool:
    """Whether an architecture's name says that it has no output head over the vocabulary."""
    return architecture.endswith(_HEADLESS) and not architecture.endswith(_GENERATING)


def _architecture(config: Mapping[str, Any]) -> str:
    return next((name for name in items(config, "architectures") if isinstance(name, str)), "")


def _kv_heads(text: Mapping[str, Any], heads: int) -> int:
    told = integer(text, "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv", most=1 << 16)
    return told or (1 if flag(text, "multi_query") else heads)


def _tied(config: Mapping[str, Any], text: Mapping[str, Any], family: Family) -> bool:
    for source in (text, config):
        told = flag(source, "tie_word_embeddings")
        if told is not None:
            return told
    return bool(family.tied)


def _rope(text: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rope scaling, in either generation's spelling; of several layer types the scaled one."""
    found = mapping(text, "rope_scaling", "rope_parameters")
    nested = [value for value in found.values() if isinstance(value, Mapping)]
    return next((value for value in nested if number(value, "factor")), nested[0]) if nested else found


def _rotary_dim(text: Mapping[str, Any], head_dim: int) -> int:
    told = integer(text, "rotary_dim", "rotary_ndims", most=1 << 16)
    share = number(text, "partial_rotary_factor", "rotary_pct", most=1) or number(_rope(text), "partial_rotary_factor", most=1) or 1
    return told or int(head_dim * share)


def _scaled(text: Mapping[str, Any], positions: int) -> int:
    """Positions after scaling: the original ones times the factor for yarn, the stated ones times the factor otherwise."""
    rope = _rope(text)
    kind = word(rope, "rope_type", "type") or "default"
    factor = number(rope, "factor", most=4096)
    if kind in _UNSCALED_ROPE or not factor or factor < 1:
        return positions
    original = integer(rope, "original_max_position_embeddings") if "yarn" in kind else None
    return int((original or positions) * factor) if original or "yarn" not in kind else max(positions, int(positions * factor))


def _rotary_rows(text: Mapping[str, Any], positions: int) -> int:
    return min(_scaled(text, positions), 1 << 26)


def _context(text: Mapping[str, Any], positions: int, family: Family) -> int:
    """The longest context the model claims."""
    if family.positions_scaled:
        return positions
    if (word(_rope(text), "rope_type", "type") or "") in ("su", "longrope"):
        return integer(text, "original_max_position_embeddings") or positions
    return min(_scaled(text, positions), 1 << 26)
