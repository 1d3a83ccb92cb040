"""What compiling takes of a first start: a copy of the embedding table of the rank, on which kernels are tuned."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask
from envcheck.sizing.result import size

RTX4090 = Card(name="NVIDIA GeForce RTX 4090", count=1, total_bytes=23.52 * GIB, capability=ComputeCapability(8, 9))
T4 = Card(name="Tesla T4", count=1, total_bytes=14.56 * GIB, capability=ComputeCapability(7, 5))


def peaks_of(table, question, first_start):
    made = ask(msgspec.structs.replace(question, first_start=first_start), table)
    return rank_budget(made, made.stages[0]).peaks


def shaped(config, **changes):
    """A dense model of two norms a layer, as Qwen3 is where its size goes."""
    return {**config("qwen2.5-7b"), "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], **changes}


QWEN3_8B = {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32}
QWEN3_8B |= {"num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960}


@pytest.mark.parametrize(
    ("release", "changes", "cold", "warm"),
    [
        # Logged peak activations, the graph estimate taken off where the release adds it.
        ("0.27.1", QWEN3_8B, 1.18, 0.19),
        ("0.29.0", {"hidden_size": 2048, "intermediate_size": 11008, "num_attention_heads": 16, "vocab_size": 151936}, 0.60, 0.15),
    ],
)
def test_logged_peaks_cold_and_warm(config, table, release, changes, cold, warm):
    serve = {"max_model_len": 2048}
    question = SizingInputs(config=shaped(config, **changes), card=RTX4090, release=Version(release), serve_args=serve)
    found = {told: peaks_of(table, question, told) for told in (True, False)}
    assert found[True].charged / GIB == pytest.approx(cold, abs=0.03)
    assert found[False].charged / GIB == pytest.approx(warm, abs=0.03)
    assert found[False].cold == 0


def test_the_first_pipeline_stage_shows_it_bare(inputs, table):
    # Llama-3.1-8B on two stages, vLLM 0.19.0: the first logs 1.10 GiB; the table is 128,256 x 4,096 x 2 bytes.
    peak = peaks_of(table, inputs("llama-3.1-8b", pipeline_parallel_size=2), True)
    table_bytes = 128256 * 4096 * 2
    assert peak.charged / GIB == pytest.approx(1.10, abs=0.02)
    assert table_bytes < peak.charged < table_bytes + 0.15 * GIB


def test_a_fresh_host_is_planned_for_and_a_second_start_gains(inputs, table):
    question = inputs("qwen2.5-7b", "0.32.0", RTX4090)
    fresh, second = (size(msgspec.structs.replace(question, first_start=told), table) for told in (None, False))
    gained = [line for line in fresh.account if line.text.key == "size.account.cold-start"]
    assert len(gained) == 1
    assert second.per_gpu_gib.kv_cache - fresh.per_gpu_gib.kv_cache == pytest.approx(gained[0].gib, abs=0.01)
    assert not [line for line in second.account if line.term == "cold_start"]


def test_ranks_divide_the_table(inputs, table):
    whole, half = (peaks_of(table, inputs("qwen2.5-7b", "0.32.0", RTX4090, tensor_parallel_size=n), True) for n in (1, 2))
    assert whole.charged > half.charged > whole.charged / 2


def test_eager_mode_compiles_nothing(inputs, table):
    assert peaks_of(table, inputs("qwen2.5-7b", "0.32.0", RTX4090, enforce_eager=True), True).cold == 0


def test_sequences_embedded_outside_the_compiled_part(inputs, table):
    images, text = (
        peaks_of(table, inputs("qwen2.5-vl-7b", "0.32.0", RTX4090, max_model_len=8192, **serve), True)
        for serve in ({}, {"language_model_only": True})
    )
    assert images.cold == 0
    assert text.cold / GIB > 0.5  # a table of 152,064 x 3,584 values: 1.02 GiB


def test_before_0_17_compiling_cost_nothing_that_was_seen(inputs, table):
    for release in ("0.11.0", "0.13.0", "0.16.0"):
        assert peaks_of(table, inputs("llama-3.1-8b", release, RTX4090), True).cold == 0


def test_where_nobody_told_it_is_in_the_interval(inputs, table):
    # vLLM 0.17.1: runs whose cache nobody described show none of it, so that it is not charged but may come.
    question = inputs("llama-3.1-8b", "0.17.1", RTX4090, max_model_len=8192)
    unsaid, cold, warm = (size(msgspec.structs.replace(question, first_start=told), table) for told in (None, True, False))
    assert unsaid.per_gpu_gib.kv_cache == warm.per_gpu_gib.kv_cache > cold.per_gpu_gib.kv_cache
    low, high = unsaid.kv.interval_gib
    assert low <= cold.per_gpu_gib.kv_cache < warm.per_gpu_gib.kv_cache <= high
    doubts = [line for line in unsaid.account if line.text.key == "size.account.cold-doubt"]
    assert [line.charged for line in doubts] == [False]


def test_a_card_before_ampere_showed_it(inputs, table):
    # Qwen2.5-7B AWQ on a T4, vLLM 0.17.1, first run: 1.07 GiB besides weights and cache; 0.58 in eager mode.
    question = msgspec.structs.replace(inputs("qwen2.5-7b", "0.17.1", T4, max_model_len=2048, dtype="half"), weights_gib=5.2)
    answer = size(question, table).per_gpu_gib
    assert answer.budget - answer.weights - answer.kv_cache == pytest.approx(1.07, abs=0.15)
