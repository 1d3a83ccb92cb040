"""Checkpoints of several formats at once: each part of the model has the bytes of the group that names it."""

from __future__ import annotations

import pytest

from envcheck.sizing.quantization import weight_format
from envcheck.sizing.spec import Dimensions

# As modelopt writes them, with the layers of one kind for all.
FP8 = {
    "input_activations": {"dynamic": False, "num_bits": 8, "type": "float"},
    "weights": {"dynamic": False, "num_bits": 8, "type": "float"},
    "targets": [f"model.layers.{n}.self_attn.{name}_proj" for n in range(28) for name in "qkvo"],
}
FP4 = {
    "weights": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16},
    "targets": [*(f"model.layers.{n}.mlp.{name}_proj" for n in range(28) for name in ("gate", "up", "down")), "lm_head"],
}


def format_of(config, groups, model="qwen2.5-7b", asked=None):
    quantized = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "config_groups": groups, "ignore": ["mtp*"]}
    return weight_format(Dimensions.from_config({**config(model), "quantization_config": quantized}), asked, "", 2, [])


@pytest.mark.parametrize("asked", [None, "modelopt"])
def test_each_part_has_the_bytes_of_its_group(config, asked):
    found = format_of(config, {"group_0": FP8, "group_1": FP4}, asked=asked)
    assert found.known
    assert found.attention == 1
    assert found.dense == found.head == (4 + 8 / 16) / 8  # 16 values of 4 bits share a scale of 8
    assert found.plain == found.experts == 2


def test_experts_and_shared_experts_are_told_apart(config):
    experts = {**FP4, "targets": [f"model.layers.{n}.mlp.experts" for n in range(48)]}
    shared = {**FP8, "targets": [f"model.layers.{n}.mlp.shared_expert.{name}_proj" for n in range(48) for name in ("gate", "up", "down")]}
    found = format_of(config, {"a": experts, "b": shared}, "qwen3-30b-a3b")
    assert (found.experts, found.shared, found.attention, found.head) == (4.5 / 8, 1, 2, 2)


@pytest.mark.parametrize(
    "groups",
    [
        {},
        {"a": {"targets": ["lm_head"]}},
        {"a": 7},
        {"a": {**FP4, "targets": []}},
        {"a": {**FP4, "weights": {"num_bits": "many"}}},
    ],
)
def test_what_says_too_little_is_not_known(config, groups):
    assert not format_of(config, groups).known
