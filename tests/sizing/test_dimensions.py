"""Configurations as they are found: nested, incomplete, odd."""

from __future__ import annotations

import pytest

from envcheck.sizing.spec import Dimensions


def kinds(dims):
    return {(group.layer.mixer, group.layer.feed_forward): group.count for group in dims.layers}


def test_a_text_part_inside_and_defaults_of_its_class(config, facts):
    dims = Dimensions.from_config(config("gemma-3-27b"), facts.families)
    assert (dims.vocab, dims.heads, dims.kv_heads, dims.head_dim, dims.tied) == (262208, 32, 16, 128, True)
    assert kinds(dims) == {("window", "dense"): 52, ("full", "dense"): 10}
    assert dims.context == 131072  # its positions are stated scaled already


def test_windows_that_are_switched_off(config, facts):
    assert kinds(Dimensions.from_config(config("qwen2.5-7b"), facts.families)) == {("full", "dense"): 28}


def test_dense_layers_of_a_mixture(config, facts):
    dims = Dimensions.from_config(config("deepseek-v3"), facts.families)
    assert kinds(dims) == {("full", "dense"): 3, ("full", "experts"): 58}
    assert (dims.experts.count, dims.experts.per_token, dims.experts.shared) == (256, 8, 2048)


def test_one_letter_a_layer(facts):
    dims = Dimensions.from_config(
        {"model_type": "nemotron_h", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 5, "vocab_size": 9,
         "hybrid_override_pattern": "M-M*E", "n_routed_experts": 4, "moe_intermediate_size": 16},
        facts.families,
    )  # fmt: skip
    assert kinds(dims) == {("recurrent", "none"): 2, ("none", "dense"): 1, ("full", "none"): 1, ("none", "experts"): 1}


def test_pruned_layers(facts):
    attention = {"n_heads_in_group": 8, "no_op": False}
    blocks = [
        {"attention": attention, "ffn": {"ffn_mult": 5.25}},
        {"attention": {"n_heads_in_group": None, "no_op": True}, "ffn": {"ffn_mult": 1.3125}},
        {"attention": attention, "ffn": {"no_op": True}},
    ]
    said = {"hidden_size": 8192, "num_attention_heads": 64, "num_hidden_layers": 3, "vocab_size": 128256}
    dims = Dimensions.from_config({**said, "block_configs": blocks}, facts.families)
    assert [(g.layer.mixer, g.layer.feed_forward, g.layer.kv_heads, g.layer.intermediate) for g in dims.layers] == [
        ("full", "dense", 8, 28672),  # the publisher's own widths: 2 x 5.25 x 8192 / 3
        ("none", "dense", None, 7168),
        ("full", "none", 8, None),
    ]


def test_scaled_positions():
    said = {
        "max_position_embeddings": 32768,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    }
    assert Dimensions.from_config(said).context == 131072
    llama = {"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}
    assert Dimensions.from_config(llama).context == 131072


@pytest.mark.parametrize(
    "value",
    [None, "", "many", -4, 0, True, 1.5, 10**30, float("nan"), float("inf"), [], {}, [4096], {"a": 1}],
)
@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_field_of_no_use_is_missing(config, facts, field, value):
    dims = Dimensions.from_config({**config("llama-3.1-8b"), field: value}, facts.families)
    assert field in dims.missing


def test_numbers_in_strings_count(config, facts):
    assert Dimensions.from_config({**config("llama-3.1-8b"), "hidden_size": "4096"}, facts.families).hidden == 4096


def test_an_empty_configuration_says_what_it_lacks(facts):
    dims = Dimensions.from_config({}, facts.families)
    assert dims.missing == ("hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size")


def test_a_million_layers_are_no_model(config, facts):
    assert Dimensions.from_config({**config("llama-3.1-8b"), "num_hidden_layers": 10**6}, facts.families).missing == ("num_hidden_layers",)


def test_every_second_layer_of_a_mixture(config):
    # `decoder_sparse_step` counts from one: with 2, the second layer is the first with experts.
    dims = Dimensions.from_config({**config("qwen3-30b-a3b"), "num_hidden_layers": 5, "decoder_sparse_step": 2})
    assert [(group.layer.feed_forward, group.count) for group in dims.layers] == [("dense", 3), ("experts", 2)]


def test_a_context_stated_after_scaling_is_not_scaled_again(config, facts):
    scaled = {**config("gemma-3-27b")["text_config"], "model_type": "gemma3_text", "max_position_embeddings": 131072}
    assert scaled["rope_scaling"]["factor"] == 8.0
    assert Dimensions.from_config(scaled, facts.families).context == 131072
