"""`envcheck size` for the offline `LLM` class, and for a second start."""

from __future__ import annotations

import msgspec
import pytest

from envcheck.render.jsonsize import SizeCommandOut

FRESH = ("Qwen/Qwen3-8B", "--gpu", "NVIDIA GeForce RTX 4090", "--vllm", "0.27.1", "--max-model-len", "8192")
HOPPER = ("Qwen/Qwen3-8B", "--gpu", "NVIDIA H20", "--vllm", "0.19.1")


@pytest.fixture
def run(envcheck):
    """`run(*words)`: standard output."""
    return lambda *words: envcheck("size", *words, "--offline", "--lang", "en")[1]


@pytest.fixture
def answer(run):
    """`answer(*words)`: the JSON by its published type."""
    return lambda *words: msgspec.json.decode(run(*words, "--json"), type=SizeCommandOut)


def test_what_a_second_start_gains_is_what_a_warm_one_has_more(answer):
    first, second = answer(*FRESH), answer(*FRESH, "--warm")
    gained = first.second_start
    assert gained.gib > 0.5  # a copy of the table of 151,936 x 4,096 values, 1.16 GiB, less the peak without it
    assert second.per_gpu_gib.kv_cache - first.per_gpu_gib.kv_cache == pytest.approx(gained.gib, abs=0.01)
    assert second.kv.tokens - first.kv.tokens == gained.tokens
    assert second.second_start is None


def test_a_release_that_shows_no_first_start_promises_no_gain(answer):
    assert answer(*HOPPER[:3], "--vllm", "0.14.1").second_start is None


def test_the_screen_says_what_a_second_start_gains(run):
    assert "--warm" in run(*FRESH)
    assert "--warm" not in run(*FRESH, "--warm")


def test_the_llm_class_takes_larger_batches_on_a_large_card(answer, run):
    # `vllm/engine/arg_utils.py`, get_batch_defaults: 16384 for the LLM class, 8192 for the server from 70 GiB on.
    server, library = answer(*HOPPER), answer(*HOPPER, "--llm-class")
    assert server.llm_class is None
    assert (library.llm_class.tokens, library.llm_class.server_tokens) == (16384, 8192)
    assert library.per_gpu_gib.activation == pytest.approx(2 * server.per_gpu_gib.activation)
    assert "16384 tokens a batch" in " ".join(run(*HOPPER, "--llm-class").split())


def test_what_was_asked_for_is_the_same_to_both(answer):
    asked = ("--max-num-batched-tokens", "4096")
    assert answer(*HOPPER, "--llm-class", *asked).per_gpu_gib == answer(*HOPPER, *asked).per_gpu_gib
