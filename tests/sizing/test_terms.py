"""What holds of the terms for every input: they add up, none is negative, and each grows with what it is made of."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.card import context_bytes
from envcheck.sizing.inputs import Card
from envcheck.sizing.question import ask
from envcheck.sizing.result import size

MODELS = ["llama-3.1-8b", "qwen2.5-7b", "deepseek-v3", "gpt-oss-20b", "qwen3-30b-a3b", "gemma-3-27b", "qwen3.5-27b", "qwen2.5-vl-7b"]
RELEASES = ["0.2.7", "0.6.3", "0.7.3", "0.8.5", "0.10.2", "0.11.0", "0.15.1", "0.19.1", "0.20.0", "0.27.1", "0.33.0"]
quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
models, releases = st.sampled_from(MODELS), st.sampled_from(RELEASES)
A10 = Card(name="NVIDIA A10", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))


def ranks_of(inputs, table, model, release, **serve):
    question = ask(inputs(model, release, **serve), table)
    return [rank_budget(question, stage) for stage in question.stages]


@quick
@given(models, releases, st.sampled_from([(1, 1), (2, 1), (8, 1), (1, 2), (2, 3)]), st.integers(1, 2048), st.integers(1, 2**16))
def test_terms_add_up_and_none_is_negative(inputs, table, model, release, parallel, sequences, batch):
    ranks, stages = parallel
    serve = {"tensor_parallel_size": ranks, "pipeline_parallel_size": stages, "max_num_seqs": sequences, "max_num_batched_tokens": batch}
    for rank in ranks_of(inputs, table, model, release, **serve):
        taken = rank.weights + rank.peaks.charged + rank.non_torch + rank.others + rank.graphs_charged
        assert rank.kv == pytest.approx(rank.budget - taken)
        terms = {**msgspec.structs.asdict(rank.peaks), **msgspec.structs.asdict(rank)}
        negative = {name for name, value in terms.items() if isinstance(value, float) and value < 0}
        assert negative <= {"kv"}
        assert rank.peaks.charged >= max(rank.peaks.forward, rank.peaks.sampler)
        assert rank.graphs_charged <= rank.graphs


@quick
@given(models, releases)
def test_the_account_adds_up_to_the_budget(inputs, table, model, release):
    answer = size(inputs(model, release), table)
    assert sum(line.gib for line in answer.account if line.charged) == pytest.approx(answer.per_gpu_gib.budget, abs=0.05)


@quick
@given(models, releases)
def test_wider_values_leave_less(inputs, table, model, release):
    half, single = (ranks_of(inputs, table, model, release, dtype=name)[0] for name in ("float16", "float32"))
    assert single.kv < half.kv
    assert single.weights >= half.weights
    assert single.peaks.charged >= half.peaks.charged


@quick
@given(models, releases, st.sampled_from([1, 2, 4, 8]))
def test_more_ranks_never_have_higher_peaks_each(inputs, table, model, release, ranks):
    fewer, more = (ranks_of(inputs, table, model, release, tensor_parallel_size=n)[0].peaks for n in (ranks, 2 * ranks))
    assert more.forward <= fewer.forward
    assert more.workspace <= fewer.workspace


@quick
@given(models, st.sampled_from(RELEASES[3:]), st.integers(1, 2**17), st.integers(0, 2**17))
def test_a_longer_context_never_leaves_more(inputs, table, model, release, context, more):
    short, long = (ranks_of(inputs, table, model, release, max_model_len=n)[0].kv for n in (context, context + more))
    assert long <= short + 1


def test_without_an_encoder_the_context_changes_nothing_in_v1(inputs, table):
    # vLLM 0.22.0 on an A10G: 4.76 GiB at 2,048 and at 32,768.
    memory = {ranks_of(inputs, table, "qwen2.5-7b", "0.22.0", max_model_len=n)[0].kv for n in (2048, 8192, 32768)}
    assert len(memory) == 1


def test_replicas_share_the_experts_kernels(inputs, table):
    alone, together = (
        ranks_of(inputs, table, "qwen3-30b-a3b", "0.20.0", data_parallel_size=n, enable_expert_parallel=True)[0].peaks for n in (1, 4)
    )
    assert together.workspace == 4 * alone.workspace
    assert together.forward == alone.forward


def test_whole_experts_are_not_narrower_on_many_ranks(inputs, table):
    split, whole = (
        ranks_of(inputs, table, "qwen3-235b-a22b", "0.20.0", tensor_parallel_size=4, enable_expert_parallel=told)[0].peaks
        for told in (False, True)
    )
    assert whole.workspace >= split.workspace


def test_older_expert_kernels_took_a_batch_in_chunks(inputs, table):
    # Qwen3-235B-FP8 on four H100: 65,536 batched tokens fit on 0.15.1 and not on 0.20.0, where the activation is 12.78 GiB.
    serve = {"tensor_parallel_size": 4, "max_num_batched_tokens": 65536, "max_num_seqs": 128}
    old, new = (ranks_of(inputs, table, "qwen3-235b-a22b", vllm, **serve)[0].peaks for vllm in ("0.15.1", "0.20.0"))
    assert new.workspace == 4 * old.workspace
    assert new.charged - old.charged > 4 * GIB


def test_a_pooling_model_on_any_release_samples_nothing(inputs, table):
    for release in RELEASES:
        assert ranks_of(inputs, table, "llama-3.1-8b", release, runner="pooling")[0].peaks.sampler == 0


# Free of the total at start, GiB, as vLLM logged it under WSL2.
@pytest.mark.parametrize(("total", "free"), [(6.0, 4.95), (8.0, 6.93), (11.99, 10.79), (15.99, 14.66), (23.99, 22.45), (31.84, 30.2)])
def test_windows_takes_its_part(facts, total, free):
    card = Card(name="GPU", total_bytes=total * GIB, wsl=True)
    assert (total * GIB - context_bytes(card, total * GIB, 1, facts)) / GIB == pytest.approx(free, abs=0.07)
    plain = msgspec.structs.replace(card, wsl=False)
    assert context_bytes(plain, total * GIB, 1, facts) < context_bytes(card, total * GIB, 1, facts)


def test_the_default_share_is_more_than_windows_leaves_on_a_small_card(inputs, table):
    small = Card(name="GPU", count=1, nvml_bytes=8.0 * GIB, wsl=True, capability=ComputeCapability(8, 6))
    serve = {"max_model_len": 1024, "enforce_eager": True, "max_num_seqs": 4}
    question = msgspec.structs.replace(inputs("qwen2.5-7b", "0.28.0", small, **serve), weights_gib=1.0)
    assert size(question, table).failure.kind == "free-memory"
    assert size(msgspec.structs.replace(question, card=msgspec.structs.replace(small, wsl=False)), table).failure is None


def test_what_is_moved_to_the_host_must_find_room_there(inputs, table):
    question = inputs("llama-3.1-8b", "0.19.1", A10, max_model_len=4096, cpu_offload_gb=4, kv_offloading_size=10)
    tight, ample = (size(msgspec.structs.replace(question, ram_bytes=n * GIB), table) for n in (13, 15))
    assert (tight.failure.kind, tight.failure.needed_gib, tight.failure.available_gib) == ("host-memory", 14.0, 13.0)
    assert ample.failure is None


@pytest.mark.parametrize(("stages", "logged"), [(1, 0.91), (2, 0.65), (4, 0.51)])
def test_logged_graphs_of_whole_and_split_models(inputs, table, stages, logged):
    # Llama-3.1-8B, vLLM 0.19.0, 102 graphs: GiB that capturing took.
    graphs = ranks_of(inputs, table, "llama-3.1-8b", "0.19.0", pipeline_parallel_size=stages)[0].graphs
    assert graphs / GIB == pytest.approx(logged, abs=0.06)


def test_an_estimate_is_what_the_budget_pays(inputs, table):
    # gpt-oss-20b: captured 1.84 GiB, estimated 1.30.
    rank = ranks_of(inputs, table, "gpt-oss-20b", "0.20.0")[0]
    assert rank.graphs / GIB == pytest.approx(1.84, abs=0.1)
    assert rank.graphs_charged / GIB == pytest.approx(1.30, abs=0.1)
