"""Situations that many have met, each answered with the mechanism that the releases' source shows."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.units import GIB, MIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask
from envcheck.sizing.result import size

RTX3070 = Card(name="NVIDIA GeForce RTX 3070", count=4, total_bytes=7.66 * GIB, capability=ComputeCapability(8, 6))
RTX4090 = Card(name="NVIDIA GeForce RTX 4090", count=1, total_bytes=23.65 * GIB, capability=ComputeCapability(8, 9))
A100 = Card(name="NVIDIA A100-SXM4-80GB", count=1, total_bytes=79.25 * GIB, capability=ComputeCapability(8, 0), nvlink=True)
H20 = Card(name="NVIDIA H20", count=8, nvml_bytes=97871 * MIB, capability=ComputeCapability(9, 0), nvlink=True)


@pytest.fixture
def coder_32b(config):
    """Qwen2.5-Coder-32B, GPTQ of 4 bit."""
    wide = {"hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8}
    packed = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}
    return {**config("qwen2.5-7b"), **wide, **packed}


@pytest.mark.parametrize(("release", "engine", "fails"), [("0.6.6.post1", "v0", False), ("0.7.0", "v1", True), ("0.7.3", "v1", False)])
def test_32b_on_four_cards_of_8_gib(table, coder_32b, release, engine, fails):
    # vllm-project/vllm issue 12529: eager mode, so no graphs; 0.7.0 of V1 computes logits of all 12,288 tokens, 3.5 GiB a card.
    serve = {
        "tensor_parallel_size": 4,
        "max_model_len": 12288,
        "max_num_batched_tokens": 12288,
        "gpu_memory_utilization": 1.0,
        "enforce_eager": True,
        "swap_space": 0,
    }
    answer = size(SizingInputs(config=coder_32b, card=RTX3070, release=Version(release), engine=engine, serve_args=serve), table)
    assert answer.per_gpu_gib.cuda_graphs == 0
    if not fails:
        assert answer.failure is None
        return
    assert answer.failure.kind == "profile-run"
    assert answer.per_gpu_gib.sampler == pytest.approx(12288 * 152064 * 2 / GIB, abs=0.15)
    smaller = size(
        SizingInputs(
            config=coder_32b,
            card=RTX3070,
            release=Version(release),
            engine=engine,
            serve_args={**serve, "max_model_len": 3072, "max_num_batched_tokens": 3072},
        ),
        table,
    )
    assert smaller.failure is None  # the reporter's way out


def test_sampling_of_1024_requests_on_h20(config, table):
    # vllm-project/vllm issue 30637: DeepSeek-V3.2 on eight H20, late 2025. H20 counts as a large card: 1,024 requests by default.
    sparse = {"architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "index_head_dim": 128, "index_n_heads": 64}
    shape = {**config("deepseek-v3"), **sparse, "index_topk": 2048}

    def sampler(release, **serve):
        question = SizingInputs(
            config=shape, card=H20, release=Version(release), serve_args={"tensor_parallel_size": 8, "max_model_len": 16384, **serve}
        )
        made = ask(question, table)
        return made.settings.sequences, rank_budget(made, made.stages[0]).peaks.sampler / GIB, size(question, table)

    rows, peak, answer = sampler("0.12.0")
    assert rows == 1024
    assert 24 * 1024 * 129280 / GIB < peak < 42 * 1024 * 129280 / GIB  # 3 to 5 GiB of sorted copies, not 0.5
    assert answer.failure.kind in ("no-kv-blocks", "sampler-warmup")
    fewer_rows, fewer, relieved = sampler("0.12.0", max_num_seqs=128)
    assert fewer_rows == 128
    assert peak - fewer > 3.5
    assert relieved.failure is None
    assert sampler("0.17.0")[1] < peak / 2  # no sort from 0.17 on


@pytest.mark.parametrize("release", ["0.8.5", "0.19.1", "0.32.0"])
def test_7b_on_24_gib(inputs, table, release):
    # Grouped heads: 4 of keys and values in 28 layers, 56 KiB a token; 32,768 tokens are 1.75 GiB.
    answer = size(inputs("qwen2.5-7b", release, RTX4090), table)
    assert answer.verdict == "fits"
    assert answer.kv.bytes_per_token == pytest.approx(57344, rel=0.001)
    assert 80_000 < answer.kv.tokens < 130_000
    whole = size(inputs("llama-3.1-8b", release, RTX4090), table)
    assert whole.failure.kind == "kv-too-small"  # 131,072 tokens of 128 KiB
    assert whole.failure.needed_gib == 16.0


@pytest.mark.parametrize("release", ["0.8.5", "0.19.1", "0.32.0"])
def test_70b_of_4_bit_on_one_a100(config, table, release):
    shape = {**config("llama-2-70b"), "max_position_embeddings": 131072, "vocab_size": 128256, "intermediate_size": 28672}
    shape["quantization_config"] = {"quant_method": "awq", "bits": 4, "group_size": 128}
    question = SizingInputs(config=shape, card=A100, release=Version(release), serve_args={"max_model_len": 32768})
    answer = size(question, table)
    assert answer.verdict == "fits"
    assert 36 < answer.per_gpu_gib.weights < 38.5  # 68 billion of 4.25 bit and two tables of 128,256 x 8,192 in half precision
    assert answer.kv.bytes_per_token == pytest.approx(327680, rel=0.001)
    whole = size(msgspec.structs.replace(question, serve_args={}), table)
    assert (whole.failure.kind, whole.failure.needed_gib) == ("kv-too-small", 40.0)
    assert size(msgspec.structs.replace(question, serve_args={"kv_cache_dtype": "fp8"}), table).failure is None
