"""How wide the KV figure is: what logged runs need, what nobody measured, and what the verdict makes of it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.result import size

RTX3090 = Card(name="NVIDIA GeForce RTX 3090", count=1, total_bytes=23.54 * GIB, capability=ComputeCapability(8, 6))
A10G = Card(name="NVIDIA A10G", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))
L4 = Card(name="NVIDIA L4", count=1, total_bytes=22.03 * GIB, capability=ComputeCapability(8, 9))
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def width(answer):
    low, high = answer.kv.interval_gib
    return high - low


# KV memory that public logs of these runs print, GiB.
@pytest.mark.parametrize(
    ("model", "release", "card", "serve", "logged"),
    [
        ("llama-3.1-8b", "0.17.1", RTX3090, {"max_model_len": 8192}, 5.68),
        ("llama-3.1-8b", "0.17.1", RTX3090, {"max_model_len": 8192, "gpu_memory_utilization": 0.86}, 4.72),
        ("llama-3.1-8b", "0.11.0", L4, {"max_model_len": 32000, "max_num_seqs": 128, "gpu_memory_utilization": 0.92}, 4.75),
        ("qwen2.5-7b", "0.22.0", A10G, {"max_model_len": 2048, "max_num_batched_tokens": 2048}, 4.76),
    ],
)
def test_logged_memory_lies_inside(inputs, table, model, release, card, serve, logged):
    answer = size(inputs(model, release, card, **serve), table)
    low, high = answer.kv.interval_gib
    assert low <= logged <= high
    assert high - low < 0.08 * answer.per_gpu_gib.total


@quick
@given(
    st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b", "qwen3.5-27b", "qwen2.5-vl-7b", "deepseek-v3"]),
    st.sampled_from(["0.6.3", "0.8.5", "0.11.0", "0.17.1", "0.20.0", "0.27.1", "0.33.0"]),
    st.sampled_from([None, True, False]),
    st.integers(0, 3),
)
def test_the_figure_lies_in_its_own_interval(inputs, table, model, release, first_start, doublings):
    question = inputs(model, release, tensor_parallel_size=2**doublings)
    answer = size(msgspec.structs.replace(question, first_start=first_start), table)
    low, high = answer.kv.interval_gib
    assert low <= answer.per_gpu_gib.kv_cache <= high
    assert high <= answer.per_gpu_gib.budget
    assert width(answer) > 0.1  # two runs of one command differ by 0.08 GiB


def test_no_figure_no_interval(inputs, table):
    assert size(inputs("llama-3.1-8b", "0.19.1", Card()), table).kv.interval_gib is None


def test_memory_asked_for_outright_is_exact(inputs, table):
    answer = size(inputs("qwen2.5-7b", "0.19.1", A10G, kv_cache_memory_bytes=2 * 2**30), table)
    assert answer.kv.interval_gib == (2.0, 2.0)


def test_what_nobody_measured_is_wider(inputs, table):
    known = inputs("llama-3.1-8b", "0.19.0", gpu_memory_utilization=0.9)
    known = msgspec.structs.replace(known, first_start=False)
    narrow = width(size(known, table))
    elsewhere = msgspec.structs.replace(known, card=msgspec.structs.replace(known.card, name="NVIDIA Something New"))
    nominal = msgspec.structs.replace(known, card=msgspec.structs.replace(known.card, total_bytes=None, nvml_bytes=81559 * 2**20))
    shared = msgspec.structs.replace(known, card=msgspec.structs.replace(known.card, unified=True))
    weighed = msgspec.structs.replace(known, weights_gib=14.99)
    assert width(size(elsewhere, table)) > narrow
    assert width(size(nominal, table)) > narrow
    assert width(size(shared, table)) > narrow + 2
    assert width(size(weighed, table)) < narrow
    release = msgspec.structs.replace(known, release=Version("0.33.0"), environment={"VLLM_USE_V2_MODEL_RUNNER": "0"})
    assert width(size(release, table)) > narrow


def test_several_ranks_of_a_release_without_logs_are_wider(inputs, table):
    widths = [width(size(inputs("llama-3.1-8b", vllm, tensor_parallel_size=4), table)) for vllm in ("0.19.1", "0.31.0", "0.33.0")]
    assert widths == sorted(widths)
    assert widths[2] > widths[0] + 1.5  # the communicators of one release took 1.5 GiB more than those before it


@pytest.mark.parametrize("release", ["0.19.1", "0.32.0"])
def test_tight_is_where_the_interval_crosses_what_one_request_needs(config, table, release):
    def answer(tokens):
        question = SizingInputs(config=config("llama-3.1-8b"), card=A10G, release=Version(release), serve_args={"max_model_len": tokens})
        return size(question, table)

    probe = answer(2048)
    low, _ = probe.kv.interval_gib
    per_token = 131072 / GIB  # 32 layers x 8 heads x (128 + 128) x 2 bytes
    sure, most = int(low / per_token), int(probe.per_gpu_gib.kv_cache / per_token)
    assert answer(sure - 64).verdict == "fits"
    assert answer(sure + 64).verdict == "tight"
    assert answer(most - 64).verdict == "tight"
    assert answer(most + 64).verdict == "does-not-fit"


def test_confidence_says_what_stands_behind_it(inputs, table):
    question = inputs("llama-3.1-8b", "0.19.1", A10G)
    weighed = msgspec.structs.replace(question, weights_gib=14.99)
    assert size(question, table).confidence == "derived"
    assert size(weighed, table).confidence == "measured"
    assert size(msgspec.structs.replace(weighed, release=Version("0.33.0")), table).confidence == "derived"
    assert size(msgspec.structs.replace(weighed, card=msgspec.structs.replace(A10G, unified=True)), table).confidence == "guess"
    spread = inputs("qwen3-30b-a3b", "0.19.1", data_parallel_size=2, enable_expert_parallel=True)
    assert size(spread, table).confidence == "guess"


def test_a_sampler_that_nobody_told_of(inputs, table):
    # vLLM 0.9 to 0.11.0 take FlashInfer's sampler where that package is installed: 13.3 bytes a logit, not 38.35.
    unsaid = msgspec.structs.replace(inputs("qwen2.5-7b", "0.10.1.1", max_model_len=16384), first_start=False)
    without = msgspec.structs.replace(unsaid, environment={"VLLM_USE_FLASHINFER_SAMPLER": "0"})
    with_it = size(msgspec.structs.replace(unsaid, flashinfer=True), table)
    assert size(without, table).kv.interval_gib[1] < with_it.per_gpu_gib.kv_cache <= size(unsaid, table).kv.interval_gib[1]
    later = inputs("qwen2.5-7b", "0.12.0", max_model_len=16384)
    assert width(size(later, table)) == width(size(msgspec.structs.replace(later, environment=without.environment), table))


def test_an_encoder_whose_size_is_not_known_is_wider(config, inputs, table):
    plain = inputs("qwen2.5-7b", "0.19.1", A10G, max_model_len=8192)
    strange = msgspec.structs.replace(plain, config={**plain.config, "model_type": "somebody_s_vl", "vision_config": {}})
    dropped = msgspec.structs.replace(strange, serve_args={**strange.serve_args, "language_model_only": True})
    assert width(size(strange, table)) > width(size(plain, table)) + 1.5
    assert width(size(dropped, table)) == pytest.approx(width(size(plain, table)), abs=1e-3)


def test_of_a_release_without_logs_the_most_that_communicators_took_is_planned_for(facts, inputs, table):
    # What NCCL takes of linked cards changed from release to release: 0.55 GiB with 0.11, 2.7 with 0.20.0, 0.6 with 0.25.
    logged = [
        r.gib for r in facts.non_torch if r.engine == "v1" and r.interconnect == "nvlink" and r.ranks <= 2 and r.releases != ">=0.32.0"
    ]
    one, two = (size(inputs("llama-3.1-8b", "0.33.0", tensor_parallel_size=n), table).per_gpu_gib for n in (1, 2))
    assert two.non_torch - one.non_torch > max(logged) - 0.3  # one rank's constant is in the larger figure too
    answer = size(inputs("llama-3.1-8b", "0.33.0", tensor_parallel_size=2), table)
    low, high = answer.kv.interval_gib
    least = answer.per_gpu_gib.kv_cache + max(logged) - min(logged)
    assert low < answer.per_gpu_gib.kv_cache < least < high  # as if it took no more than the least that was logged
