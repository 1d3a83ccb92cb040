"""Suggested arguments fit, change as little as it takes, and say why."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.result import size
from envcheck.sizing.suggest import suggest

A10 = Card(name="NVIDIA A10", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))
T4 = Card(name="Tesla T4", count=1, total_bytes=14.56 * GIB, capability=ComputeCapability(7, 5))
FOUR_4090 = Card(name="NVIDIA GeForce RTX 4090", count=4, total_bytes=23.52 * GIB, capability=ComputeCapability(8, 9))
EIGHT_A100 = Card(name="NVIDIA A100-SXM4-80GB", count=8, total_bytes=79.25 * GIB, capability=ComputeCapability(8, 0), nvlink=True)


def keys(suggestion):
    return dict(zip(suggestion.serve_args, [text.key for text in suggestion.why], strict=True))


def test_a_model_that_fits_is_left_alone(inputs, table):
    found = suggest(inputs("qwen2.5-7b", "0.19.1", A10), table)
    assert found.serve_args == {"max_model_len": 32768, "gpu_memory_utilization": 0.9}
    assert keys(found) == {"max_model_len": "size.suggest.context-own", "gpu_memory_utilization": "size.suggest.utilization-default"}


def test_a_shorter_context_where_the_cache_is_small(inputs, table):
    found = suggest(inputs("llama-3.1-8b", "0.19.1", A10), table)
    length = found.serve_args["max_model_len"]
    assert length % 512 == 0
    assert keys(found)["max_model_len"] == "size.suggest.context-fits"
    low, high = size(inputs("llama-3.1-8b", "0.19.1", A10, max_model_len=length), table).kv.interval_gib
    assert length * 131072 <= low * GIB < (length + 512 + 16) * 131072 < high * GIB  # 32 layers x 8 heads x 128 x 2 x 2 bytes a token


def test_half_precision_where_there_is_no_bfloat16(config, table):
    small = {**config("qwen2.5-7b"), "hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960}
    question = SizingInputs(config=small, card=T4, release=Version("0.19.1"))
    assert suggest(question, table).serve_args["dtype"] == "half"
    assert "dtype" not in suggest(msgspec.structs.replace(question, card=A10), table).serve_args
    half = msgspec.structs.replace(question, config={**small, "torch_dtype": "float16"})
    assert "dtype" not in suggest(half, table).serve_args


def test_the_fewest_ranks_that_fit(inputs, table):
    assert suggest(inputs("llama-2-70b", "0.19.1", EIGHT_A100), table).serve_args["tensor_parallel_size"] == 2
    assert suggest(inputs("qwen2.5-7b", "0.19.1", EIGHT_A100), table).serve_args.get("tensor_parallel_size") is None


def test_ranks_divide_the_heads(inputs, table):
    found = suggest(inputs("qwen2.5-72b-awq", "0.19.1", FOUR_4090), table)
    assert found.serve_args["tensor_parallel_size"] == 4
    odd = msgspec.structs.replace(inputs("qwen2.5-7b", "0.19.1", FOUR_4090), weights_gib=None)
    heads = {**odd.config, "num_attention_heads": 25, "hidden_size": 3200, "num_hidden_layers": 80}
    assert suggest(msgspec.structs.replace(odd, config=heads), table).serve_args.get("tensor_parallel_size") is None


def test_less_utilization_where_others_hold_memory(config, table):
    card = msgspec.structs.replace(A10, free_bytes=18.5 * GIB)
    question = SizingInputs(config=config("qwen2.5-7b"), card=card, release=Version("0.19.1"))
    found = suggest(question, table)
    share = found.serve_args["gpu_memory_utilization"]
    assert 0.75 <= share * 1.0 <= 18.5 / 22.06
    assert keys(found)["gpu_memory_utilization"] == "size.suggest.utilization-free"


def test_images_stay_where_videos_do_not_fit(inputs, table):
    found = suggest(inputs("qwen2.5-vl-7b", "0.23.0", A10), table)
    assert found.serve_args["limit_mm_per_prompt"] == '{"image": 1, "video": 0}'
    asked = suggest(inputs("qwen2.5-vl-7b", "0.23.0", A10, limit_mm_per_prompt={"image": 1, "video": 1}), table)
    assert asked.serve_args.get("limit_mm_per_prompt") != '{"image": 1, "video": 0}'


def test_nothing_is_suggested_where_nothing_fits(inputs, table):
    assert suggest(inputs("deepseek-v3", "0.19.1", A10), table).serve_args == {}
    assert suggest(inputs("llama-3.1-8b", "0.19.1", T4), table).serve_args == {}  # 14.99 GiB of weights on 14.56
    assert suggest(inputs("qwen2.5-7b", "0.19.1", Card()), table).serve_args == {}


def test_quantization_is_never_invented(inputs, table):
    for model in ("llama-3.1-8b", "llama-2-70b", "mixtral-8x7b"):
        assert not {"quantization", "kv_cache_dtype"} & set(suggest(inputs(model, "0.19.1", A10), table).serve_args)


def test_what_was_asked_is_kept(inputs, table):
    found = suggest(inputs("qwen2.5-7b", "0.19.1", A10, kv_cache_dtype="fp8", max_model_len="8k", enable_prefix_caching=True), table)
    assert found.serve_args == {
        "max_model_len": "8k",
        "gpu_memory_utilization": 0.9,
        "kv_cache_dtype": "fp8",
        "enable_prefix_caching": True,
    }
    assert keys(found)["kv_cache_dtype"] == "size.suggest.asked"


def test_values_that_cannot_be_typed_are_left_out(inputs, table):
    hostile = {
        "x\n--y": 1,
        "download_dir": "a\nb",
        "seed": float("nan"),
        "n" * 200: 1,
        "served_model_name": "a b",
        "hf_overrides": {"a": [1]},
    }
    found = suggest(inputs("qwen2.5-7b", "0.19.1", A10, **hostile), table).serve_args
    kept = {name: value for name, value in found.items() if name not in ("max_model_len", "gpu_memory_utilization")}
    assert kept == {"served_model_name": "a b", "hf_overrides": '{"a": [1]}'}


CARDS = [A10, T4, FOUR_4090, EIGHT_A100, msgspec.structs.replace(A10, free_bytes=17 * GIB), msgspec.structs.replace(EIGHT_A100, count=1)]
MODELS = [
    "llama-3.1-8b",
    "qwen2.5-7b",
    "llama-2-70b",
    "gpt-oss-20b",
    "qwen3-30b-a3b",
    "gemma-3-27b",
    "qwen3.5-27b",
    "qwen2.5-vl-7b",
    "qwen2.5-72b-awq",
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.count}x{card.name[7:]}")
@pytest.mark.parametrize("release", ["0.7.3", "0.8.5", "0.11.0", "0.19.1", "0.33.0"])
def test_what_is_suggested_fits(inputs, table, model, card, release):
    question = inputs(model, release, card)
    found = suggest(question, table)
    if found.serve_args:
        answer = size(msgspec.structs.replace(question, serve_args=found.serve_args), table)
        assert answer.failure is None
        assert answer.verdict in ("fits", "tight")
    else:
        assert size(question, table).verdict in ("does-not-fit", "unknown")
