"""The budget against runs whose logs are public. Figures are the logs'; tolerances are what two runs of one command differ by."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.result import size

NOISE = 0.1  # GiB
RTX3090 = Card(name="NVIDIA GeForce RTX 3090", count=1, total_bytes=23.58 * GIB, capability=ComputeCapability(8, 6))


def test_llama_on_an_h100(inputs, table):
    # llm-d-planner, logs of its vLLM 0.19.0 sweep: 14.99 weights, 58.11 cache, 476,016 tokens, 1.89 peak.
    answer = size(inputs("llama-3.1-8b", max_model_len=8192, gpu_memory_utilization=0.95), table)
    assert answer.per_gpu_gib.weights == pytest.approx(14.99, abs=0.01)
    assert answer.per_gpu_gib.kv_cache == pytest.approx(58.11, abs=NOISE)
    assert answer.kv.tokens == pytest.approx(476016, rel=0.002)
    assert answer.per_gpu_gib.sampler == pytest.approx(1.89, abs=0.03)
    assert answer.verdict == "fits"


@pytest.mark.parametrize(("ranks", "weights", "cache"), [(2, 7.51, 63.76), (4, 3.77, 67.44)])
def test_the_same_model_on_more_ranks(inputs, table, ranks, weights, cache):
    answer = size(inputs("llama-3.1-8b", max_model_len=8192, gpu_memory_utilization=0.95, tensor_parallel_size=ranks), table)
    assert answer.per_gpu_gib.weights == pytest.approx(weights, abs=0.02)
    assert answer.per_gpu_gib.kv_cache == pytest.approx(cache, abs=NOISE)


@pytest.mark.parametrize(("context", "peak", "verdict"), [(20000, 2.07, "fits"), (29000, 2.99, "does-not-fit"), (35000, 0.06, "fits")])
def test_without_chunking_the_profile_runs_the_whole_context(config, table, context, peak, verdict):
    # vllm-project/vllm issue 10517, V0: 20,000 starts, 29,000 fails for 23,648 tokens of cache, 35,000 starts because prompts are split.
    release = Version("0.6.4.post1" if context == 35000 else "0.6.5")
    question = SizingInputs(config=config("llama-3.1-8b"), card=RTX3090, release=release, serve_args={"max_model_len": context})
    answer = size(question, table)
    assert answer.engine == "v0"
    assert answer.per_gpu_gib.activation == pytest.approx(peak, abs=0.02)
    assert answer.verdict == verdict
    if answer.failure:
        assert answer.failure.kind == "kv-too-small"
        assert answer.kv.tokens == pytest.approx(23648, rel=0.05)
        assert answer.failure.max_model_len == pytest.approx(23648, rel=0.05)


def test_old_samplers_took_more_than_twice_as_much(inputs, table):
    # Llama-3.1-8B on H100, vLLM 0.11.0: 4.76 GiB of peak with 1,024 sequences; 0.19.0: 1.89.
    peaks = [size(inputs("llama-3.1-8b", release), table).per_gpu_gib.sampler for release in ("0.11.0", "0.19.0")]
    assert peaks == [pytest.approx(4.76, abs=0.03), pytest.approx(1.89, abs=0.03)]


def test_the_sampler_of_an_installed_package(inputs, table):
    # Qwen2-7B on A100, vLLM 0.10.1.1 with FlashInfer: 0.55 GiB besides weights and cache, 256 sequences.
    card = Card(name="NVIDIA A100-SXM4-80GB", count=1, total_bytes=79.25 * GIB, capability=ComputeCapability(8, 0), nvlink=True)
    question = inputs("qwen2.5-7b", "0.10.1.1", card, max_model_len=16384)
    with_it = size(msgspec.structs.replace(question, flashinfer=True), table).per_gpu_gib
    assert with_it.budget - with_it.weights - with_it.kv_cache == pytest.approx(0.55, abs=NOISE)
    without = size(question, table).per_gpu_gib
    assert without.sampler > 2.5 * with_it.sampler
    switched_off = msgspec.structs.replace(question, flashinfer=True, environment={"VLLM_USE_FLASHINFER_SAMPLER": "0"})
    assert size(switched_off, table).per_gpu_gib == without


def test_logits_of_every_token_before_0_7_3(config, table):
    # vllm-project/vllm issue 12529: 12,288 batched tokens x 152,064 of vocabulary x 2 bytes on cards of 8 GiB.
    card = Card(name="NVIDIA GeForce RTX 3070", count=4, total_bytes=7.66 * GIB, capability=ComputeCapability(8, 6))
    serve = {
        "max_model_len": 12288,
        "max_num_batched_tokens": 12288,
        "tensor_parallel_size": 4,
        "gpu_memory_utilization": 1.0,
        "enforce_eager": True,
    }
    question = SizingInputs(config=config("qwen2.5-7b"), card=card, release=Version("0.7.0"), engine="v1", serve_args=serve)
    assert size(question, table).per_gpu_gib.sampler == pytest.approx(12288 * 152064 * 2 / GIB, abs=0.1)
    fixed = msgspec.structs.replace(question, release=Version("0.7.3"))
    assert size(fixed, table).per_gpu_gib.sampler < 0.5


def test_the_check_of_free_memory(config, table):
    # A log of vLLM 0.9.1: free memory 31.44 of 47.38 GiB is less than 0.95 asked for, 45.01 GiB.
    card = Card(total_bytes=47.38 * GIB, free_bytes=31.44 * GIB, count=1)
    question = SizingInputs(
        config=config("qwen2.5-7b"), card=card, release=Version("0.9.1"), engine="v1", serve_args={"gpu_memory_utilization": 0.95}
    )
    failure = size(question, table).failure
    assert failure.kind == "free-memory"
    assert (failure.needed_gib, failure.available_gib) == (pytest.approx(45.01, abs=0.01), 31.44)


def test_before_that_check_what_others_hold_came_out_of_the_budget(config, table):
    card = Card(total_bytes=47.38 * GIB, free_bytes=31.44 * GIB, count=1)
    question = SizingInputs(config=config("qwen2.5-7b"), card=card, release=Version("0.8.5"), engine="v1", serve_args={})
    crowded, alone = size(question, table), size(msgspec.structs.replace(question, card=Card(total_bytes=47.38 * GIB, count=1)), table)
    assert crowded.failure is None
    assert alone.per_gpu_gib.kv_cache - crowded.per_gpu_gib.kv_cache == pytest.approx(47.38 - 31.44, abs=0.5)


def test_sampler_warm_up_fails_outside_the_budget(config, table):
    # gpt-oss-20b on two H100, 77.18 GiB free at start, vLLM 0.19.0: dies in sampler warm-up at 0.95, starts at 0.90.
    card = Card(
        name="NVIDIA H100 80GB", count=2, total_bytes=79.19 * GIB, free_bytes=77.18 * GIB, capability=ComputeCapability(9, 0), nvlink=True
    )
    serve = {"tensor_parallel_size": 2, "max_model_len": 8192}
    asked = [{**serve, "gpu_memory_utilization": share} for share in (0.95, 0.90)]
    release = Version("0.19.0")
    high, low = (size(SizingInputs(config=config("gpt-oss-20b"), card=card, release=release, serve_args=args), table) for args in asked)
    assert (high.verdict, high.failure.kind) == ("does-not-fit", "sampler-warmup")
    assert low.verdict == "fits"


@pytest.mark.parametrize(("first", "tokens"), [(True, 35792), (False, 43040)])
def test_a_first_start_has_less_cache(config, table, first, tokens):
    # Qwen3-8B on an RTX 4090, vLLM 0.27.1, the same command cold and warm.
    shape = {
        **config("qwen2.5-7b"),
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "hidden_size": 4096,
        "intermediate_size": 12288,
    }
    shape |= {"num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}
    shape |= {"max_position_embeddings": 40960}
    card = Card(name="NVIDIA GeForce RTX 4090", count=1, total_bytes=23.52 * GIB, capability=ComputeCapability(8, 9))
    question = SizingInputs(config=shape, card=card, release=Version("0.27.1"), serve_args={"max_model_len": 8192}, first_start=first)
    assert size(question, table).kv.tokens == pytest.approx(tokens, rel=0.03)


def test_every_term_is_accounted_for(inputs, table):
    answer = size(inputs("qwen3-30b-a3b", "0.19.1"), table)
    charged = sum(line.gib for line in answer.account if line.charged)
    assert charged == pytest.approx(answer.per_gpu_gib.budget, abs=0.03)
    assert {line.term for line in answer.account} >= {"weights", "sampler", "experts", "non_torch", "cuda_graphs", "kv_cache"}


@pytest.mark.parametrize(
    ("ranks", "linked", "least", "most"), [(1, True, 0.0, 0.15), (2, False, 0.1, 0.3), (2, True, 1.0, 2.2), (4, True, 2.0, 2.6)]
)
def test_communicators_were_charged_before_0_11(inputs, table, ranks, linked, least, most):
    # Snapshots of free memory were taken before the communicators were made, 0.9.1 to 0.10.2. Issue 21348: 2.4 GiB on four linked H100.
    card = msgspec.structs.replace(inputs("llama-3.1-8b").card, nvlink=linked)
    answer = size(inputs("llama-3.1-8b", "0.10.2", card, tensor_parallel_size=ranks, max_model_len=8192), table)
    assert least < answer.per_gpu_gib.non_torch < most


@pytest.mark.parametrize(("tokens", "logged"), [(8192, 4.15), (32768, 9.14), (65536, 13.95)])
def test_linked_cards_of_0_20_take_more(inputs, table, tokens, logged):
    # Qwen3-235B-A22B-FP8 on four H100, vLLM 0.20.0: budget less weights and cache, without a graph estimate in the first run.
    question = inputs("qwen3-235b-a22b", "0.20.0", tensor_parallel_size=4, max_num_seqs=128, max_num_batched_tokens=tokens)
    told = {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"} if tokens == 8192 else {}
    answer = size(msgspec.structs.replace(question, environment=told), table)
    figures = answer.per_gpu_gib
    assert figures.budget - figures.weights - figures.kv_cache == pytest.approx(logged, abs=0.9)
    most, least = (figures.budget - figures.weights - end for end in answer.kv.interval_gib)
    assert least <= logged <= most
