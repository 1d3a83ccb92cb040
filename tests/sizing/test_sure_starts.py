"""What is suggested starts in nine starts of ten when put back, unless the suggestion itself says that it is close."""

from __future__ import annotations

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from envcheck.model.relief import Load
from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.budget import outcome
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.pull import keeps_quality
from envcheck.sizing.question import ask
from envcheck.sizing.relief import relieve
from envcheck.sizing.result import size
from envcheck.sizing.suggest import suggest

A10 = Card(name="NVIDIA A10", count=1, total_bytes=22.06 * GIB, capability=ComputeCapability(8, 6))
FOUR_4090 = Card(name="NVIDIA GeForce RTX 4090", count=4, total_bytes=23.52 * GIB, capability=ComputeCapability(8, 9))
L20 = Card(name="NVIDIA L20", count=2, total_bytes=44.4 * GIB, capability=ComputeCapability(8, 9))
MODELS = ["llama-3.1-8b", "qwen2.5-7b", "qwen3-30b-a3b", "gemma-3-27b", "qwen2.5-vl-7b", "gpt-oss-20b", "qwen2.5-72b-awq", "qwen3.5-27b"]
CLOSE = "size.suggest.context-close"
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
cards = st.builds(
    lambda card, count, free: msgspec.structs.replace(card, count=count, free_bytes=free and free * (card.total_bytes or 0)),
    st.sampled_from([A10, FOUR_4090, L20]),
    st.sampled_from([1, 2, 4]),
    st.one_of(st.none(), st.floats(0.6, 1.0)),
)
releases = st.sampled_from(["0.6.3", "0.8.5", "0.14.1", "0.19.1", "0.27.1", "0.33.0"])


def said_close(reasons):
    return any(text.key == CLOSE for text in reasons)


@quick
@given(st.sampled_from(MODELS), cards, releases, st.sampled_from([None, 4096, 20000]))
def test_a_suggestion_is_sure_when_put_back_unless_it_says_not(config, table, model, card, release, context):
    asked = {} if context is None else {"max_model_len": context}
    question = SizingInputs(config=config(model), card=card, release=Version(release), serve_args=asked)
    found = suggest(question, table)
    if found.serve_args:
        again = size(msgspec.structs.replace(question, serve_args=found.serve_args), table)
        assert again.verdict == ("tight" if said_close(found.why) else "fits")


@quick
@given(st.sampled_from(MODELS), cards, releases, st.integers(1, 64), st.integers(256, 16384))
def test_settings_for_a_load_are_sure_when_put_back_unless_they_say_not(config, table, model, card, release, requests, context):
    question = ask(SizingInputs(config=config(model), card=card, release=Version(release)), table)
    found = relieve(question, Load(requests, min(context, question.settings.context)))
    if found.serve_args:
        again = size(msgspec.structs.replace(question.inputs, serve_args=found.serve_args), table)
        assert again.verdict == ("tight" if said_close(found.why) else "fits")


def test_close_calls_are_few(config, table):
    # Where nobody asked for a length, a shorter one is always surer.
    for model in MODELS:
        question = SizingInputs(config=config(model), card=FOUR_4090, release=Version("0.19.1"))
        assert not said_close(suggest(question, table).why), model


def test_a_length_that_was_asked_for_is_not_shortened_for_a_close_call(config, table):
    question = SizingInputs(config=config("llama-3.1-8b"), card=A10, release=Version("0.19.1"))
    longest = size(question, table).failure.max_model_len
    asked = {"max_model_len": longest // 16 * 16}
    found = suggest(msgspec.structs.replace(question, serve_args=asked), table)
    assert found.serve_args["max_model_len"] == asked["max_model_len"]
    assert found.serve_args["gpu_memory_utilization"] > 0.9
    stuck = suggest(msgspec.structs.replace(question, serve_args={**asked, "gpu_memory_utilization": 0.9, "max_num_seqs": 256}), table)
    assert stuck.serve_args["max_model_len"] == asked["max_model_len"]
    assert said_close(stuck.why)


def test_more_utilization_comes_before_more_gpus(config, table):
    # Qwen2.5-7B with 32,768 tokens needs 1.75 GiB of cache: a card that lacks little of it at 0.9 has it at 0.95.
    card = msgspec.structs.replace(A10, total_bytes=18.3 * GIB, count=4)
    question = SizingInputs(config=config("qwen2.5-7b"), card=card, release=Version("0.14.1"), serve_args={"max_num_seqs": 16})
    before = size(question, table)
    assert before.verdict in ("does-not-fit", "tight")
    found = suggest(question, table).serve_args
    assert found["gpu_memory_utilization"] > 0.9
    assert "tensor_parallel_size" not in found
    assert found["max_model_len"] == 32768


def test_what_costs_accuracy_or_speed_is_not_suggested_where_something_else_does(config, table):
    question = SizingInputs(config=config("llama-3.1-8b"), card=FOUR_4090, release=Version("0.19.1"))
    found = suggest(question, table).serve_args
    assert keeps_quality(found)
    assert outcome(ask(msgspec.structs.replace(question, serve_args=found), table)).shortage is None
