"""Bytes of keys and values a token, against arithmetic by hand and against lines of public logs."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from packaging.version import Version

from envcheck.sizing.inputs import SizingInputs
from envcheck.sizing.kv_cache import bytes_per_token, cache_layers, state_bytes
from envcheck.sizing.question import ask
from envcheck.sizing.result import size


def tiny(name, **serve):
    """A model whose configuration the real library wrote: 8 heads of 8 values, 2 of them for keys, unless the test says otherwise."""
    fixture = json.loads((Path(__file__).parent / "shapes" / f"{name}.json").read_text(encoding="utf-8"))
    return SizingInputs(config=fixture["config"], release=Version("0.19.0"), serve_args=serve)


def per_token(question):
    return bytes_per_token(cache_layers(question.dims, question.settings, question.rules.kv_layout, question.rules.facts.kv_formats))


@pytest.mark.parametrize(
    ("model", "serve", "expected"),
    [
        ("llama-3.1-8b", {}, 2 * 32 * 8 * 128 * 2),
        ("llama-3.1-8b", {"kv_cache_dtype": "fp8"}, 2 * 32 * 8 * 128),
        ("llama-3.1-8b", {"kv_cache_dtype": "bfloat16"}, 2 * 32 * 8 * 128 * 2),
        ("llama-3.1-8b", {"dtype": "float32"}, 2 * 32 * 8 * 128 * 4),
        ("llama-3.1-8b", {"tensor_parallel_size": 4}, 2 * 32 * 2 * 128 * 2),
        ("llama-3.1-8b", {"pipeline_parallel_size": 2}, 2 * 16 * 8 * 128 * 2),
        ("qwen2.5-7b", {}, 57344),
        ("qwen2.5-7b", {"tensor_parallel_size": 7}, 28 * 2 * 1 * 128 * 2),  # 4 heads on 7 ranks: one each, repeated
        ("deepseek-v3", {}, 61 * 576 * 2),
        ("deepseek-v3", {"tensor_parallel_size": 8}, 61 * 576 * 2),  # latent attention is the same on every rank
        ("gpt-oss-20b", {}, 24 * 2 * 8 * 64 * 2),
        ("qwen3.5-27b", {}, 16 * 2 * 4 * 256 * 2),  # only one layer in four keeps keys and values
    ],
)
def test_bytes_per_token_by_hand(inputs, table, model, serve, expected):
    assert per_token(ask(inputs(model, **serve), table)) == expected


def test_before_latent_caching_every_head_was_cached(inputs, table):
    # Up to 0.7.0 DeepSeek kept full heads: 128 heads of 192 values, keys and values, over the ranks.
    question = ask(inputs("deepseek-v3", "0.6.6", tensor_parallel_size=8), table)
    assert question.rules.engine == "v0"
    assert per_token(question) == 61 * 2 * 16 * 192 * 2


@pytest.mark.parametrize(("name", "bytes_a_head"), [("turboquant_k8v4", 196), ("turboquant_4bit_nc", 134), ("turboquant_3bit_nc", 102)])
def test_packed_cache_types_keep_the_outer_layers_plain(inputs, table, name, bytes_a_head):
    # Sizes for heads of 128 as vLLM 0.20's configuration computes them; the first and last two layers stay 16 bit.
    question = ask(inputs("llama-3.1-8b", "0.20.0", kv_cache_dtype=name), table)
    assert per_token(question) == 8 * (28 * bytes_a_head + 4 * 512)


def test_a_recurrent_state_by_hand(inputs, table):
    question = ask(inputs("qwen3.5-27b", tensor_parallel_size=4), table)
    convolution = 3 * (2 * 16 * 128 + 48 * 128) * 2  # 16-bit inputs of three earlier tokens
    state = 48 * 128 * 128 * 4  # single precision
    assert state_bytes(question.dims, question.settings) == (convolution + state) / 4


def test_attention_blocks_grow_to_hold_a_state(inputs, table):
    # A public log of this geometry says "Setting attention block size to 784 tokens".
    pool = ask(inputs("qwen3.5-27b", tensor_parallel_size=4), table).pool()
    assert [(group.keeps, group.groups, group.block_size) for group in pool.groups] == [("state", 3, 1), ("all", 1, 784)]


def test_groups_are_filled_up_to_the_rarest_kind(inputs, table):
    # gemma-3-27b: 10 full layers of 62, so 52 windowed ones fill six groups of ten: 70 layers' worth of pages.
    question = ask(inputs("gemma-3-27b"), table)
    pool = question.pool()
    page = 16 * 2 * 16 * 128 * 2
    assert pool.block_bytes == 10 * page
    assert sum(group.groups for group in pool.groups) == 7


def test_windows_save_nothing_before_they_were_told_apart(inputs, table):
    old, new = (ask(inputs("gpt-oss-20b", release, max_num_batched_tokens=2048), table).pool() for release in ("0.9.0", "0.10.2"))
    assert old.request_bytes(131072) == 131072 * 24 * 2 * 8 * 64 * 2
    assert new.request_bytes(131072) < 0.52 * old.request_bytes(131072)


def test_decode_context_parallelism_stretches_a_block(inputs, table):
    pool = ask(inputs("deepseek-v3", "0.11.1", tensor_parallel_size=8, decode_context_parallel_size=8), table).pool()
    alone = msgspec.structs.replace(pool, context_ranks=1)
    assert pool.tokens(1000, 4096) == 8 * alone.tokens(1000, 4096)


def test_the_longest_context_is_the_last_that_fits(inputs, table):
    pool = ask(inputs("llama-3.1-8b"), table).pool()
    kv_bytes = 7760 * 131072  # 485 blocks of 16 tokens
    longest = pool.longest(kv_bytes, 131072)
    assert longest == 7760
    assert pool.request_bytes(longest) <= kv_bytes < pool.request_bytes(longest + 1)


def test_a_logged_hybrid_run(inputs, table):
    # A run on four RTX 3090, vLLM 0.19.0: 7.56 GiB of cache, 123,088 tokens printed, 9.42 requests of 50,000 tokens.
    pool = ask(inputs("qwen3.5-27b", "0.19.0", tensor_parallel_size=4, max_model_len=50000), table).pool()
    blocks = pool.blocks(7.56 * 2**30)
    assert pool.tokens(blocks, 50000) == pytest.approx(123088, abs=784)
    assert pool.concurrency(blocks, 50000) == pytest.approx(9.42, abs=0.02)


def test_prediction_layers_are_cached_too(inputs, table):
    drafted = ask(inputs("deepseek-v3", "0.19.0", speculative_config='{"method": "mtp", "num_speculative_tokens": 1}'), table)
    assert per_token(drafted) == 62 * 576 * 2


def test_bytes_per_token_of_the_answer_is_memory_over_tokens(inputs, table):
    answer = size(inputs("llama-3.1-8b", gpu_memory_utilization=0.95, max_model_len=8192), table)
    assert answer.kv.bytes_per_token == pytest.approx(131072, rel=1e-4)
    assert answer.kv.tokens * 131072 <= answer.per_gpu_gib.kv_cache * 2**30


def test_a_window_costs_its_tokens_those_in_flight_and_one_block(inputs, table):
    # Half of gpt-oss's layers see 128 tokens; the scheduler reserves ceil((128 - 1 + 2048) / 16) + 1 blocks beside the full layers' 8192.
    pool = ask(inputs("gpt-oss-20b", "0.10.2", max_num_batched_tokens=2048), table).pool()
    assert pool.request_blocks(131072) == 8192 + 136 + 1


def test_a_release_that_nobody_named_says_nothing_of_what_it_prints(inputs, table):
    # gpt-oss on a release that prints concurrency x length: half its layers keep a window, so a printed token costs far less than one more.
    asked = inputs("gpt-oss-20b", "0.25.0", max_model_len=65536, max_num_batched_tokens=2048)
    told, guessed = size(asked, table), size(msgspec.structs.replace(asked, release_told=False), table)
    assert guessed.kv.bytes_per_token == 24 * 2 * 8 * 64 * 2
    assert told.kv.bytes_per_token < 0.6 * guessed.kv.bytes_per_token
    assert told.kv.max_concurrency == guessed.kv.max_concurrency


def test_the_stage_with_the_most_layers_decides(inputs, table):
    # 61 layers on four stages: 15, 15, 16, 15.
    assert per_token(ask(inputs("deepseek-v3", pipeline_parallel_size=4), table)) == pytest.approx(16 * 576 * 2)
    assert [round(rank.share * 61) for rank in ask(inputs("deepseek-v3", pipeline_parallel_size=4), table).stages] == [15, 16, 15]


def test_cross_attention_keeps_the_encoders_output_beside(table):
    # Three decoder layers of 4 heads of 16; the encoder gives 100 tokens, ceil(100 / 16) = 7 blocks a request, whatever it generates.
    question = ask(tiny("whisper"), table)
    pool = question.pool()
    assert per_token(question) == 3 * 2 * 4 * 16 * 2
    assert pool.block_bytes == 16 * per_token(question)
    assert (pool.request_blocks(16), pool.request_blocks(48)) == (1 + 7, 3 + 7)


def test_models_that_only_encode_cache_nothing(table):
    assert ask(tiny("bert"), table).pool().request_bytes(128) == 0
    assert ask(tiny("modernbert"), table).pool().request_bytes(8192) == 0


def test_layers_of_attention_and_state_keep_both(table):
    question = ask(tiny("falcon-h1"), table)
    kept = {layer.keeps: layer for layer in cache_layers(question.dims, question.settings, question.rules.kv_layout, [])}
    assert (kept["all"].count, kept["all"].bytes_per_token) == (3, 2 * 2 * 16 * 2)
    # Convolution: 3 earlier inputs of 128 + 2 x 2 x 16 values; state: 8 heads of 16 x 16; all in 16 bit.
    assert (kept["state"].count, kept["state"].state_bytes) == (3, (3 * (128 + 64) + 8 * 16 * 16) * 2)
