"""Parameter counts against those their publishers state: a wrong field, shape or layer kind shows at once."""

from __future__ import annotations

import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.allocator import allocated
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.quantization import WeightFormat, weight_format
from envcheck.sizing.rank import Rank, stage_layers
from envcheck.sizing.result import size
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.weights import checkpoint_bytes, weight_terms

ONE_BYTE = WeightFormat(1, 1, 1, 1, 1, 1)

# Parameters in billions as the model cards or the checkpoints' own metadata state them.
PUBLISHED = [
    ("llama-3.1-8b", 8.030, 0.001),
    ("qwen2.5-7b", 7.616, 0.001),
    ("llama-2-70b", 68.98, 0.001),
    ("mixtral-8x7b", 46.70, 0.001),
    ("deepseek-v3", 671.0, 0.001),
    ("qwen3-30b-a3b", 30.53, 0.001),
    ("qwen3-235b-a22b", 235.09, 0.001),
    ("gemma-2-9b", 9.24, 0.001),
    ("gemma-3-27b", 27.43, 0.002),
    ("gpt-oss-20b", 20.91, 0.002),
    ("qwen2.5-vl-7b", 8.29, 0.002),
]


@pytest.mark.parametrize(("model", "billions", "tolerance"), PUBLISHED)
def test_parameters_agree_with_what_the_publisher_states(config, facts, model, billions, tolerance):
    dims = Dimensions.from_config(config(model), facts.families)
    assert dims.missing == ()
    assert checkpoint_bytes(dims, ONE_BYTE) / 1e9 == pytest.approx(billions, rel=tolerance)


def test_an_awq_checkpoint_weighs_what_its_repository_shows(config, facts):
    # Qwen/Qwen2.5-72B-Instruct-AWQ: 41.6 GB of safetensors; embeddings and head in half precision, the rest 4 bit in groups of 128.
    dims = Dimensions.from_config(config("qwen2.5-72b-awq"), facts.families)
    form = weight_format(dims, None, "", 2.0, facts.quantization)
    assert checkpoint_bytes(dims, form) / 1e9 == pytest.approx(41.6, rel=0.005)


def test_ranks_share_all_but_what_is_replicated(config, facts):
    dims = Dimensions.from_config(config("llama-2-70b"), facts.families)
    two_bytes = WeightFormat(2, 2, 2, 2, 2, 2)
    whole = weight_terms(dims, Rank(), two_bytes)
    part = weight_terms(dims, Rank(ranks=8, expert_ranks=8), two_bytes)
    norms = 80 * 2 * 8192 * 2
    assert part.total - part.rotary == pytest.approx((whole.total - whole.rotary - norms) / 8 + norms)
    assert part.rotary == whole.rotary


def test_key_and_value_heads_are_repeated_where_ranks_outnumber_them(config, facts):
    dims = Dimensions.from_config(config("qwen2.5-7b"), facts.families)  # 4 key-value heads of 128
    form = WeightFormat(2, 2, 2, 2, 2, 2)
    seven, fourteen = (weight_terms(dims, Rank(ranks=n), form).attention for n in (7, 14))
    # Queries and output halve from 7 to 14 ranks; one head of keys and values with its biases stays, and the norms, in 28 layers.
    kept = 28 * (3584 * 2 * 128 * 2 + 2 * 128 * 2 + 2 * 3584 * 2)
    assert fourteen - kept == pytest.approx((seven - kept) / 2)


def test_stages_carry_the_embedding_first_and_the_head_last(config, facts):
    dims = Dimensions.from_config(config("llama-3.1-8b"), facts.families)
    form = WeightFormat(2, 2, 2, 2, 2, 2)
    first, last = (weight_terms(dims, Rank(stage=stage, stages=2), form) for stage in (0, 1))
    table = 128256 * 4096 * 2
    assert (first.embedding, first.head) == (table, 0)
    assert (last.embedding, last.head) == (0, table)
    assert first.attention == last.attention


def test_a_tied_head_costs_nothing_more_on_one_gpu(config, facts):
    dims = Dimensions.from_config(config("gemma-2-9b"), facts.families)  # its file does not say so: the family's default
    assert dims.tied
    assert weight_terms(dims, Rank(), ONE_BYTE).head == 0
    assert weight_terms(dims, Rank(stage=1, stages=2), ONE_BYTE).head == 876 * 2**20  # 256,000 x 3,584 = 875 MiB, in 2 MiB steps


def test_rows_of_the_vocabulary_are_padded_to_64(config):
    dims = Dimensions.from_config({**config("llama-3.1-8b"), "vocab_size": 32001, "hidden_size": 64})
    terms = weight_terms(dims, Rank(), ONE_BYTE)
    assert (terms.embedding, terms.head) == (32064 * 64, 32064 * 64)


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        (1, 512),
        (513, 1024),
        (9.9 * 2**20, 20276 * 512),
        (31.5 * 2**20, 32 * 2**20),  # half a MiB is left of the segment and stays with the block
        (25 * 2**20, 26 * 2**20),  # one MiB as well
        (24.5 * 2**20, 24.5 * 2**20),  # one and a half is given to others
        (224 * 2**20, 224 * 2**20),
    ],
)
def test_tensors_take_whole_steps_of_the_allocator(asked, held):
    assert allocated(asked) == held


def test_a_logged_load_shows_the_steps_of_the_allocator(config, facts):
    # Qwen2-7B-Instruct in 16 bit on one GPU loads as 14.2488 GiB, 57 MiB more than its parameters and rotary table: 2 MiB a layer.
    dims = Dimensions.from_config(config("qwen2.5-7b"), facts.families)  # of the same shape
    form = WeightFormat(2, 2, 2, 2, 2, 2)
    loaded = weight_terms(dims, Rank(), form)
    assert (loaded.total - loaded.rotary - checkpoint_bytes(dims, form)) / 2**20 == pytest.approx(57, abs=1.5)
    assert loaded.total / 2**30 == pytest.approx(14.2488, abs=0.0005)


def test_layers_that_do_not_divide_go_to_the_stages_before_the_last():
    assert stage_layers(32, 4) == [8, 8, 8, 8]
    assert stage_layers(61, 4) == [15, 15, 16, 15]
    assert stage_layers(62, 4) == [15, 16, 16, 15]
    assert stage_layers(63, 4) == [16, 16, 16, 15]
    assert stage_layers(3, 5) == [0, 1, 1, 1, 0]


def test_deep_outputs_of_a_vision_tower_have_buffers_of_a_batch(facts):
    # Logged: Qwen3-VL-30B-A3B on two H100 loads as 29.3115 GiB a rank, with 8,192 batched tokens; three buffers of 2,048 wide are 96 MiB.
    text = {
        "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 262144, "moe_intermediate_size": 768,
        "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
        "vocab_size": 151936,
    }  # fmt: skip
    vision = {
        "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_position_embeddings": 2304, "out_hidden_size": 2048,
        "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
    }  # fmt: skip
    dims = Dimensions.from_config({"model_type": "qwen3_vl_moe", "text_config": text, "vision_config": vision}, facts.families)
    rank, form = Rank(ranks=2, expert_ranks=2), WeightFormat(2, 2, 2, 2, 2, 2)
    kept = weight_terms(dims, rank, form, batched_tokens=8192)
    assert kept.total - weight_terms(dims, rank, form).total == 96 * 2**20
    assert kept.total / 2**30 == pytest.approx(29.3115, rel=0.001)


def test_hopper_takes_the_marlin_kernels_where_torch_is_too_old_for_others(config, table):
    # gpt-oss-120b on an H100, logged: 65.97 GiB with 0.10.1, which comes with torch 2.7.1, and 64.38 with 0.11.0.
    shape = {**config("gpt-oss-20b"), "num_hidden_layers": 36, "num_local_experts": 128}
    shape["layer_types"] = ["sliding_attention", "full_attention"] * 18
    card = Card(name="NVIDIA H100 80GB HBM3", count=1, total_bytes=79.19 * GIB, capability=ComputeCapability(9, 0))
    for release, logged in (("0.10.1.1", 65.97), ("0.11.0", 64.38)):
        answer = size(SizingInputs(config=shape, card=card, release=Version(release)), table)
        assert answer.per_gpu_gib.weights == pytest.approx(logged, rel=0.005)
