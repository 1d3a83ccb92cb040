"""Settings that serve a load: they start when put back, hold the load they promise, and ask for no more than was asked."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from envcheck.model.relief import Load
from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.budget import outcome
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.pull import state
from envcheck.sizing.question import ask
from envcheck.sizing.relief import media_levers, relieve

A10 = Card(name="NVIDIA A10", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))
L20 = Card(name="NVIDIA L20", count=4, total_bytes=44.4 * GIB, capability=ComputeCapability(8, 9))
H20 = Card(name="NVIDIA H20", count=8, total_bytes=94.99 * GIB, capability=ComputeCapability(9, 0), nvlink=True)
MODELS = ["llama-3.1-8b", "qwen2.5-7b", "qwen3-30b-a3b", "gemma-3-27b", "qwen2.5-vl-7b", "gpt-oss-20b"]
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
cards = st.sampled_from([A10, L20, H20])
releases = st.sampled_from(["0.6.3", "0.8.5", "0.14.1", "0.19.1", "0.27.1", "0.33.0"])


def question_of(config, table, model, card, release, **serve):
    return ask(SizingInputs(config=config(model), card=card, release=Version(release), serve_args=serve), table)


@quick
@given(st.sampled_from(MODELS), cards, releases, st.integers(1, 600), st.integers(256, 32768))
def test_what_is_suggested_starts_and_holds_the_load(config, table, model, card, release, requests, context):
    question = question_of(config, table, model, card, release)
    load = Load(requests, min(context, question.settings.context))
    found = relieve(question, load)
    if not found.serve_args:
        assert not found.served
        assert outcome(question).shortage
        return
    back = question_of(config, table, model, card, release, **found.serve_args)
    again = outcome(back)
    assert again.shortage is None
    if found.served:
        assert again.pool.concurrency(again.blocks, load.context) * back.settings.replicas >= requests
        assert back.settings.sequences >= requests
        assert back.settings.context >= load.context
        assert relieve(back, load).asked_for


@quick
@given(st.sampled_from(MODELS), cards, st.tuples(*[st.integers(1, 300)] * 2), st.tuples(*[st.integers(256, 8192)] * 2))
def test_a_larger_load_is_never_served_where_a_smaller_one_is_not(config, table, model, card, requests, context):
    question = question_of(config, table, model, card, "0.19.1")
    small = relieve(question, Load(min(requests), min(context)))
    large = relieve(question, Load(max(requests), max(context)))
    assert small.served or not large.served
    assert small.asked_for or not large.asked_for


@quick
@given(st.sampled_from(MODELS), cards, st.integers(1, 300), st.integers(256, 8192))
def test_what_was_asked_for_stays(config, table, model, card, requests, context):
    asked = {"max_num_seqs": 64, "gpu_memory_utilization": 0.8, "kv_cache_dtype": "auto"}
    found = relieve(question_of(config, table, model, card, "0.19.1", **asked), Load(requests, context))
    if found.serve_args and not found.missing_gib:
        assert {name: found.serve_args[name] for name in asked} == asked


def test_a_load_that_is_served_changes_nothing(config, table):
    found = relieve(question_of(config, table, "qwen2.5-7b", H20, "0.14.1"), Load(8, 4096))
    assert found.asked_for
    assert found.served
    assert not found.steps
    assert found.serve_args == {"max_model_len": 32768, "gpu_memory_utilization": 0.9}


def test_each_step_leaves_less_missing_and_the_last_none(config, table):
    found = relieve(question_of(config, table, "llama-3.1-8b", A10, "0.19.1"), Load(8, 8192))
    assert not found.asked_for
    assert found.served
    assert found.steps[-1].missing_gib == 0
    assert all(step.missing_gib for step in found.steps[:-1])
    assert all(step.frees_gib >= 0 for step in found.steps)


def test_half_the_bytes_free_half_of_what_the_load_needs(config, table):
    # Qwen2.5-7B: 28 layers x 4 key-value heads x 128 x 2 x 2 bytes = 56 KiB a token; 16 x 8192 tokens = 7 GiB, in 8 bits 3.5.
    found = relieve(question_of(config, table, "qwen2.5-7b", A10, "0.14.1"), Load(16, 8192))
    step = next(step for step in found.steps if step.lever == "kv-dtype")
    assert step.frees_gib == pytest.approx(3.5, abs=0.01)


def test_no_lever_that_is_not_allowed(config, table):
    question = question_of(config, table, "qwen2.5-7b", A10, "0.14.1")
    found = relieve(question, Load(16, 8192), lambda args: args.get("kv_cache_dtype") != "fp8")
    assert "kv_cache_dtype" not in found.serve_args
    assert not found.served
    assert found.missing_gib > 0


def test_others_on_the_card_keep_their_memory(config, table):
    busy = msgspec.structs.replace(A10, free_bytes=19.0 * GIB)
    question = question_of(config, table, "qwen2.5-7b", busy, "0.14.1")
    found = relieve(question, Load(4, 4096))
    assert found.serve_args["gpu_memory_utilization"] * 22.06 <= 19.0


def test_more_ranks_divide_the_heads(config, table):
    question = question_of(config, table, "gemma-3-27b", L20, "0.19.1")
    found = relieve(question, Load(4, 4096))
    ranks = found.serve_args["tensor_parallel_size"]
    assert found.served
    assert question.dims.heads % ranks == 0
    assert ranks <= L20.count


def test_rows_are_added_for_as_many_requests_as_asked(config, table):
    question = question_of(config, table, "qwen2.5-7b", H20, "0.14.1", gpu_memory_utilization=0.9)
    found = relieve(question, Load(question.settings.sequences + 1, 256))
    assert found.serve_args["max_num_seqs"] == question.settings.sequences + 1
    assert state(question, found.load).rows_missing == 1


def test_only_a_limit_of_0_frees_anything_of_an_encoder(config, table):
    question = question_of(config, table, "qwen2.5-vl-7b", A10, "0.23.0")
    steps = {step.lever: step for step in media_levers(question, Load(4, 8192))}
    assert 0 < steps["video"].frees_gib <= steps["media-off"].frees_gib
    one, two = (
        state(question_of(config, table, "qwen2.5-vl-7b", A10, "0.23.0", limit_mm_per_prompt={"image": n, "video": 0}), Load(4, 8192))
        for n in (1, 2)
    )
    assert one.found.kv == two.found.kv


def test_a_text_model_has_no_such_levers(config, table):
    assert media_levers(question_of(config, table, "qwen2.5-7b", A10, "0.23.0"), Load(4, 8192)) == []


def test_no_graphs_are_given_up_where_fewer_sequences_do(config, table):
    busy = msgspec.structs.replace(A10, free_bytes=18.5 * GIB)
    found = relieve(question_of(config, table, "qwen2.5-7b", busy, "0.14.1"), Load(4, 4096))
    assert found.served
    assert "enforce_eager" not in found.serve_args


@pytest.mark.parametrize("model", ["qwen2.5-7b", "gemma-3-27b", "qwen3-30b-a3b"])
def test_the_interval_holds_the_figure(config, table, model):
    found = relieve(question_of(config, table, model, H20, "0.19.1"), Load(4, 4096))
    low, high = found.requests_interval
    assert low <= found.requests <= high
    assert low < high


def test_half_precision_is_named_where_there_is_no_bfloat16(config, table):
    v100 = Card(name="Tesla V100-SXM2-32GB", count=1, total_bytes=31.74 * GIB, capability=ComputeCapability(7, 0))
    found = relieve(question_of(config, table, "qwen2.5-7b", v100, "0.10.2"), Load(2, 4096))
    assert found.served
    assert found.serve_args["dtype"] == "half"
    assert found.steps == []
