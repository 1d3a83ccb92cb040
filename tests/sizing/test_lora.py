"""LoRA buffers against parameter counts that trainers print for adapters of the same shape, and by hand for ranks and experts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.model.modelspec import Adapter
from envcheck.model.units import GIB
from envcheck.sizing.graphs import graph_count
from envcheck.sizing.lora import host_bytes, lora_terms
from envcheck.sizing.question import ask
from envcheck.sizing.rank import Rank
from envcheck.sizing.result import size

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def terms(question, stage=0):
    rank = question.stages[stage]
    return lora_terms(question.dims, question.settings.lora, rank, question.rules.lora, 0, 0)


@pytest.mark.parametrize(
    ("model", "trainable"),
    [
        ("llama-3.1-8b", 41_943_040),  # what PEFT prints for rank 16 on q, k, v, o, gate, up and down
        ("qwen2.5-7b", 40_370_176),
    ],
)
def test_one_adapter_s_buffers_hold_the_parameters_a_trainer_prints(inputs, table, model, trainable):
    question = ask(inputs(model, enable_lora=True), table)  # defaults: one adapter, rank 16
    found = terms(question)
    assert found.attention + found.feed_forward == 2 * trainable
    assert found.experts == 0


def test_settings_multiply(inputs, table):
    question = ask(inputs("qwen2.5-7b", enable_lora=True, max_loras=4, max_lora_rank=64, lora_dtype="float32"), table)
    found = terms(question)
    assert found.attention + found.feed_forward == 4 * 4 * 4 * 40_370_176  # four adapters, four times the rank, four bytes


def test_split_layers_hold_part_of_one_matrix_and_all_of_the_other(inputs, table):
    # Llama-3.1-8B on two ranks: A of q, k, v, gate, up whole and their B halved; A of o and down halved and their B whole.
    held = 16 * (3 * 4096 + (4096 + 1024 + 1024) // 2) + 16 * (4096 // 2 + 4096)
    wide = 16 * (2 * 4096 + 2 * 14336 // 2) + 16 * (14336 // 2 + 4096)
    found = terms(ask(inputs("llama-3.1-8b", enable_lora=True, tensor_parallel_size=2), table))
    assert (found.attention, found.feed_forward) == (32 * 2 * held, 32 * 2 * wide)


def test_full_split_divides_both(inputs, table):
    whole = ask(inputs("qwen2.5-7b", enable_lora=True), table)
    split = ask(inputs("qwen2.5-7b", enable_lora=True, tensor_parallel_size=4, fully_sharded_loras=True), table)
    assert terms(split).attention + terms(split).feed_forward == 2 * 40_370_176 / 4  # 28 query heads and 4 key heads divide by four
    assert terms(whole).indices == terms(split).indices


def test_experts_have_buffers_from_0_11_1(inputs, table):
    before, since = (ask(inputs("mixtral-8x7b", release, enable_lora=True), table) for release in ("0.11.0", "0.11.1"))
    assert terms(before).experts == 0
    assert terms(since).experts == 32 * 8 * 3 * 16 * (4096 + 14336) * 2  # layers, experts, matrices, rank, both sides, bytes
    assert terms(before).feed_forward == terms(since).feed_forward == 32 * 16 * (4096 + 8) * 2  # the router


def test_embedding_and_head_have_buffers_where_the_architecture_says_so(inputs, table):
    new, old, without = (
        terms(ask(inputs(model, release, enable_lora=True), table)).vocabulary
        for model, release in (("llama-3.1-8b", "0.19.0"), ("llama-3.1-8b", "0.10.0"), ("qwen2.5-7b", "0.19.0"))
    )
    assert without == 0
    assert new == 2 * 2 * 16 * (128256 + 4096)  # embedding and head, two bytes
    added = 256 * 4096 * 2  # rows for tokens of adapters: in the table, in the head and in a buffer of each
    assert old == 2 * 2 * 16 * (128256 + 256 + 4096) + 4 * added


def test_without_the_switch_there_is_nothing(inputs, table):
    plain, adapters = inputs("llama-3.1-8b"), inputs("llama-3.1-8b", max_loras=8, max_lora_rank=256)
    assert ask(adapters, table).settings.lora is None
    assert size(plain, table).per_gpu_gib == size(adapters, table).per_gpu_gib


def test_the_budget_pays_for_it_and_the_account_says_so(inputs, table):
    without = size(inputs("llama-3.1-8b"), table)
    answer = size(inputs("llama-3.1-8b", enable_lora=True, max_loras=8, max_lora_rank=64), table)
    line = next(line for line in answer.account if line.term == "lora")
    assert line.charged
    assert answer.per_gpu_gib.weights - without.per_gpu_gib.weights == pytest.approx(line.gib, abs=0.006)
    assert line.gib >= 8 * 4 * 2 * 41_943_040 / GIB - 0.01
    assert answer.per_gpu_gib.kv_cache < without.per_gpu_gib.kv_cache - 2


def test_measured_weights_hold_the_buffers_already(inputs, table):
    measured = msgspec.structs.replace(inputs("llama-3.1-8b", enable_lora=True), weights_gib=16.0)
    answer = size(measured, table)
    assert answer.per_gpu_gib.weights == 16.0
    assert "lora" not in {line.term for line in answer.account}


@pytest.mark.parametrize(
    ("adapter", "key"),
    [
        (Adapter("a", "/a", 64), "size.lora.rank"),
        (Adapter("a", "/a", 16, extra_modules=("lm_head",)), "size.lora.saved"),
        (Adapter("a", "/a", 16, ("q_proj", "model.embed_tokens")), "size.lora.tables"),
        (Adapter("a", "/a", 16, ("q_proj", "down_proj")), None),
    ],
)
def test_adapters_that_will_not_load_are_said(inputs, table, adapter, key):
    question = msgspec.structs.replace(inputs("qwen2.5-7b", enable_lora=True), adapters=(adapter,))
    assert [text.key for text in size(question, table).unknowns] == ([key] if key else [])


def test_the_host_keeps_as_many_adapters_as_asked(inputs, table):
    question = ask(inputs("qwen2.5-7b", enable_lora=True, max_cpu_loras=3), table)
    lora = msgspec.structs.replace(question.settings.lora, adapters=(Adapter("a", "/a", 8, size_bytes=1000),))
    assert host_bytes(question.dims, lora, question.rules.lora) == 1000 + 2 * 2 * 40_370_176


def test_graphs_are_captured_with_adapters_and_without_from_0_11_1(inputs, table):
    for release, sets in (("0.11.0", 1), ("0.12.0", 2)):
        without, with_adapters = (ask(inputs("qwen2.5-7b", release, **serve), table) for serve in ({}, {"enable_lora": True}))
        assert graph_count(with_adapters.settings, with_adapters.rules) == sets * graph_count(without.settings, without.rules)


names = st.sampled_from(["llama-3.1-8b", "deepseek-v3", "qwen3-30b-a3b", "qwen3.5-27b", "gpt-oss-20b", "gemma-3-27b"])


@quick
@given(names, st.integers(1, 512), st.integers(1, 64), st.sampled_from([1, 2, 4, 8]), st.booleans())
def test_more_room_takes_more_memory_and_more_ranks_less(inputs, table, model, rank, loras, ranks, sharded):
    def total(**changes):
        serve = {"max_lora_rank": rank, "max_loras": loras, "tensor_parallel_size": ranks, "fully_sharded_loras": sharded, **changes}
        question = ask(inputs(model, enable_lora=True, **serve), table)
        return question.lora_bytes(question.stages[0])

    here = total()
    assert 0 < here < total(max_lora_rank=rank + 1)
    assert here < total(max_loras=loras + 1)
    assert total(tensor_parallel_size=2 * ranks) <= here
    assert total(fully_sharded_loras=True) <= total(fully_sharded_loras=False)


@quick
@given(
    st.dictionaries(
        st.sampled_from(["enable_lora", "max_loras", "max_lora_rank", "max_cpu_loras", "lora_dtype", "lora_extra_vocab_size"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers(), max_size=2),
    )
)
def test_hostile_values_never_crash(inputs, table, serve):
    question = ask(inputs("llama-3.1-8b", **serve), table)
    assert question.lora_bytes(Rank()) >= 0
    assert size(inputs("llama-3.1-8b", **serve), table).verdict in ("fits", "tight", "does-not-fit")
