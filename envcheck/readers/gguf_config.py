"""The configuration that a GGUF header stands for, in the words of a `config.json`."""

from __future__ import annotations

from typing import Any

from envcheck.readers.gguf import Gguf

# A GGUF header's key behind the architecture's name, and the field of a configuration that says the same.
_FIELDS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.q_lora_rank": "q_lora_rank",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
    "nextn_predict_layers": "num_nextn_predict_layers",
    "rope.freq_base": "rope_theta",
    "vocab_size": "vocab_size",
}
# The same architecture under the name that configurations use.
_MODEL_TYPES = {
    "qwen2moe": "qwen2_moe",
    "qwen3moe": "qwen3_moe",
    "deepseek2": "deepseek_v2",
    "gemma3": "gemma3_text",
    "gpt-oss": "gpt_oss",
    "command-r": "cohere",
    "glm4moe": "glm4_moe",
    "gptneox": "gpt_neox",
    "phi2": "phi",
    "qwen2vl": "qwen2_vl",
    "qwen3next": "qwen3_next",
    "qwen3vl": "qwen3_vl",
    "qwen3vlmoe": "qwen3_vl_moe",
    "minimax-m2": "minimax_m2",
}
_EMBEDDING, _HEAD = "token_embd.weight", "output.weight"


def config_of(header: Gguf) -> dict[str, Any]:
    """The configuration; fields that the header does not say are missing. The layers' own head counts count as their largest."""
    architecture = header.values.get("general.architecture")
    name = architecture if isinstance(architecture, str) else ""
    config: dict[str, Any] = {"model_type": _MODEL_TYPES.get(name, name), "quantization_config": {"quant_method": "gguf"}}
    for key, field in _FIELDS.items():
        value = _number(header.values.get(f"{name}.{key}"))
        if value is not None:
            config[field] = value
    config |= _latent(header, name) if "kv_lora_rank" in config else {}
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    rows = shapes.get(_EMBEDDING, ())
    if len(rows) == 2:
        config["vocab_size"] = rows[0]
    config["tie_word_embeddings"] = _HEAD not in shapes
    config["torch_dtype"] = "bfloat16" if any(tensor.dtype == "BF16" for tensor in header.tensors) else "float16"
    return config


def _latent(header: Gguf, name: str) -> dict[str, Any]:
    """The widths of latent attention's heads; a file made for absorbed projections keeps the plain ones under names of their own."""
    said = {key: _number(header.values.get(f"{name}.{key}")) or 0 for key in ("rope.dimension_count", "attention.key_length",
            "attention.key_length_mla", "attention.value_length", "attention.value_length_mla")}  # fmt: skip
    rope = said["rope.dimension_count"]
    key = said["attention.key_length_mla"] or said["attention.key_length"]
    value = said["attention.value_length_mla"] or said["attention.value_length"]
    return {"qk_rope_head_dim": rope, "qk_nope_head_dim": max(0, key - rope), "v_head_dim": value} if rope and key and value else {}


def _number(value: Any) -> int | float | None:
    """A number, or the largest of one a layer; None for anything else."""
    if isinstance(value, list):
        numbers = [item for item in value if isinstance(item, (int, float)) and not isinstance(item, bool)]
        return max(numbers, default=None)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
