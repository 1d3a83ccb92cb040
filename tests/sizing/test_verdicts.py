"""Verdicts, failures and what is said where something is not known."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.units import GIB, MIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.card import total_bytes
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.result import size

A10 = Card(name="NVIDIA A10", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))


def test_no_card_leaves_what_does_not_depend_on_it(inputs, table):
    answer = size(inputs("llama-3.1-8b", "0.19.1", Card()), table)
    assert answer.verdict == "unknown"
    assert [text.key for text in answer.unknowns] == ["size.unknown.gpu-memory"]
    assert answer.per_gpu_gib.weights == pytest.approx(14.99, abs=0.01)
    assert answer.per_gpu_gib.total is None
    assert answer.per_gpu_gib.kv_cache is None
    assert answer.kv.bytes_per_token == 131072


def test_an_empty_configuration(table):
    answer = size(SizingInputs(config={}, card=A10), table)
    assert answer.verdict == "unknown"
    assert {text.params["field"] for text in answer.unknowns} == {"hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size"}


def test_weights_whose_format_says_no_size(config, table):
    odd = {**config("llama-3.1-8b"), "quantization_config": {"quant_method": "aqlm"}}
    question = SizingInputs(config=odd, card=A10, release=Version("0.9.2"), serve_args={"max_model_len": 8192})
    answer = size(question, table)
    assert (answer.verdict, answer.confidence) == ("unknown", "guess")
    assert answer.unknowns[0].params == {"format": "aqlm"}
    weighed = size(msgspec.structs.replace(question, weights_bytes=4.1e9), table)
    assert weighed.verdict == "fits"
    assert weighed.per_gpu_gib.weights == pytest.approx(4.1e9 / GIB, abs=0.01)


def test_weights_larger_than_the_card(inputs, table):
    answer = size(inputs("llama-2-70b", "0.19.1", A10), table)
    assert answer.failure.kind == "weights"
    assert answer.failure.needed_gib == pytest.approx(68.98e9 * 2 / GIB, rel=0.001)


def test_nothing_left_for_the_cache(config, table):
    question = SizingInputs(config=config("llama-3.1-8b"), card=A10, release=Version("0.19.1"), serve_args={"gpu_memory_utilization": 0.7})
    assert size(question, table).failure.kind == "no-kv-blocks"


def test_one_request_too_long(inputs, table):
    answer = size(inputs("llama-3.1-8b", "0.19.1", A10), table)
    assert answer.failure.kind == "kv-too-small"
    assert answer.failure.needed_gib == 16.0  # 131,072 tokens of 131,072 bytes
    assert answer.failure.max_model_len * 131072 <= answer.failure.available_gib * GIB < (answer.failure.max_model_len + 17) * 131072


def test_a_length_the_server_may_choose(inputs, table):
    assert size(inputs("llama-3.1-8b", "0.19.1", A10, max_model_len="auto"), table).verdict == "fits"


def test_memory_asked_for_outright(inputs, table):
    answer = size(inputs("qwen2.5-7b", "0.19.1", A10, kv_cache_memory_bytes=2 * 2**30), table)
    assert answer.per_gpu_gib.kv_cache == 2.0
    assert answer.kv.tokens == 2 * 2**30 // (16 * 57344) * 16


def test_pinned_swap_space_must_fit_the_host(inputs, table):
    # vLLM up to 0.17.1 refuses swap space above 70 % of host memory; 4 GiB a rank by default.
    question = inputs("qwen2.5-7b", "0.10.2", tensor_parallel_size=4)
    small = size(msgspec.structs.replace(question, ram_bytes=20 * GIB), table)
    assert (small.failure.kind, small.failure.needed_gib, small.failure.available_gib) == ("host-memory", 16.0, 14.0)
    assert size(msgspec.structs.replace(question, ram_bytes=30 * GIB), table).failure is None
    assert size(msgspec.structs.replace(question, ram_bytes=20 * GIB, release=Version("0.18.0")), table).failure is None


def test_offloaded_weights(inputs, table):
    kept, moved = (size(inputs("llama-3.1-8b", "0.17.1", A10, max_model_len=8192, cpu_offload_gb=n), table).per_gpu_gib for n in (0, 8))
    assert kept.weights - moved.weights == pytest.approx(8)
    assert moved.kv_cache - kept.kv_cache == pytest.approx(8)


def test_the_encoder_of_a_long_video(inputs, table):
    # Qwen2.5-VL-7B, vLLM 0.23.0 defaults: a budget of 114,688 tokens, about 15.5 GiB; a card of 22 GiB cannot.
    asked = size(inputs("qwen2.5-vl-7b", "0.23.0", A10), table)
    assert asked.failure.kind == "encoder"
    assert asked.per_gpu_gib.encoder == pytest.approx(15.5, abs=1.0)
    without = size(inputs("qwen2.5-vl-7b", "0.23.0", A10, max_model_len=8192, limit_mm_per_prompt={"image": 0, "video": 0}), table)
    assert without.failure is None


def test_close_calls_are_tight(inputs, table):
    exact = size(inputs("llama-3.1-8b", "0.19.1", A10), table).failure.max_model_len
    assert size(inputs("llama-3.1-8b", "0.19.1", A10, max_model_len=exact), table).verdict == "tight"
    assert size(inputs("llama-3.1-8b", "0.19.1", A10, max_model_len=exact // 2), table).verdict == "fits"


def test_a_model_that_answers_with_vectors_has_no_head_and_no_sampler(inputs, table):
    # Qwen3-Embedding-8B loads 14.11 GiB where Qwen3-8B loads 15.27: the head is 151,936 x 4,096.
    question = inputs("llama-3.1-8b", "0.19.1", runner="pooling")
    answer = size(question, table)
    generating = size(msgspec.structs.replace(question, serve_args={}), table)
    assert generating.per_gpu_gib.weights - answer.per_gpu_gib.weights == pytest.approx(128256 * 4096 * 2 / GIB, abs=1e-3)
    assert answer.per_gpu_gib.sampler == 0


@pytest.mark.parametrize(
    ("name", "nvml_mib", "cuda_gib"),
    [
        ("NVIDIA H100 80GB HBM3", 81559, 79.19),
        ("NVIDIA A100-SXM4-80GB", 81920, 79.25),
        ("NVIDIA A10", 23028, 22.06),
        ("Tesla T4", 15360, 14.56),
    ],
)
def test_cuda_reports_less_than_nvml(inputs, table, name, nvml_mib, cuda_gib):
    card = Card(name=name, count=1, nvml_bytes=nvml_mib * 2**20)
    assert size(inputs("qwen2.5-7b", "0.19.1", card), table).per_gpu_gib.total == pytest.approx(cuda_gib, abs=0.01)
    unknown = Card(name="NVIDIA Something New", count=1, nvml_bytes=nvml_mib * 2**20)
    assert size(inputs("qwen2.5-7b", "0.19.1", unknown), table).per_gpu_gib.total == pytest.approx(cuda_gib, rel=0.006)
    windows = Card(name=name, count=1, nvml_bytes=nvml_mib * 2**20, wsl=True)
    assert size(inputs("qwen2.5-7b", "0.19.1", windows), table).per_gpu_gib.total == pytest.approx(nvml_mib / 1024, abs=0.001)


def test_a_mig_slice_is_counted_alike(facts):
    # An A100's 1g.5gb: 4,864 MiB for nvidia-smi and for torch.cuda.get_device_properties.
    part = Card(name="NVIDIA A100-SXM4-40GB", nvml_bytes=4864 * MIB, mig=True)
    assert total_bytes(part, facts) == 4864 * MIB
    assert total_bytes(msgspec.structs.replace(part, mig=False), facts) < 4864 * MIB


def test_a_smaller_slice_of_a_measured_card_is_not_that_card(facts):
    # A virtual GPU carries the card's name and has less of it.
    nvml = (81559 - 2048) * MIB
    assert 0.98 * nvml < total_bytes(Card(name="NVIDIA H100 80GB HBM3", nvml_bytes=nvml), facts) < nvml


def test_the_cache_is_smaller_by_the_graphs_that_the_budget_pays(inputs, table):
    question = inputs("qwen2.5-7b", "0.20.0", A10)
    paid, unpaid = (
        size(msgspec.structs.replace(question, environment={"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": told}), table).per_gpu_gib
        for told in ("1", "0")
    )
    assert paid.cuda_graphs > 0.1
    assert unpaid.kv_cache - paid.kv_cache == pytest.approx(paid.cuda_graphs, abs=2e-4)


def test_graphs_find_no_room_beside_a_cache_of_asked_size(inputs, table):
    # 21.77 GiB free, 13.18 of weights, 0.13 outside the allocator: beside 8.1 GiB of cache, 0.36 are left for 0.55 of graphs.
    asked = {"kv_cache_memory_bytes": int(8.1 * GIB), "max_model_len": 8192, "runner": "pooling"}
    answer = size(inputs("qwen2.5-7b", "0.17.1", A10, **asked), table)
    assert answer.failure.kind == "cuda-graphs"
    assert answer.failure.needed_gib == answer.per_gpu_gib.cuda_graphs > answer.failure.available_gib
    assert size(inputs("qwen2.5-7b", "0.17.1", A10, **asked, enforce_eager=True), table).failure is None
