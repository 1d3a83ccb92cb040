"""Encoders in the profile run: which items it encodes, what it keeps of them, what attention gathers on several ranks."""

from __future__ import annotations

import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.encoder_peak import encoder_peaks, profiled_items
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask
from envcheck.sizing.result import size

V100 = Card(name="Tesla V100-SXM2-32GB", count=4, total_bytes=31.74 * GIB, capability=ComputeCapability(7, 0), nvlink=True)
RTX4090 = Card(name="NVIDIA GeForce RTX 4090", count=1, total_bytes=23.65 * GIB, capability=ComputeCapability(8, 9))


@pytest.fixture
def vl_72b(config):
    """Qwen2.5-VL-72B: the tower of the 7B model, with a wider feed-forward part and output."""
    small = config("qwen2.5-vl-7b")
    wide = {"hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8}
    return {**small, **wide, "vision_config": {**small["vision_config"], "intermediate_size": 3456, "out_hidden_size": 8192}}


@pytest.fixture
def vl_3b(config):
    """Qwen2.5-VL-3B: the tower of the 7B model with an output of 2,048."""
    small = config("qwen2.5-vl-7b")
    narrow = {"hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 2}
    narrow |= {"vocab_size": 151936, "tie_word_embeddings": True}
    return {**small, **narrow, "vision_config": {**small["vision_config"], "out_hidden_size": 2048}}


def asked(table, config, release, card, **serve):
    engine = "v0" if release == "0.9.0.1" else None
    return ask(SizingInputs(config=config, card=card, release=Version(release), engine=engine, serve_args=serve), table)


def test_v0_encodes_all_items_of_a_prompt(table, vl_72b):
    # vllm/multimodal/profiling.py, get_decoder_dummy_data: the prompt is as long as its placeholders, beyond the batch too.
    limits = {"image": 10, "video": 1}
    question = asked(table, vl_72b, "0.9.0.1", V100, tensor_parallel_size=4, max_model_len=8192, limit_mm_per_prompt=limits)
    items = profiled_items(question.dims, question.settings, question.rules)
    assert items.encoded == 10 * 16384
    assert items.kept == items.prompt == 11 * 16384


def test_v1_encodes_the_largest_item_whatever_the_limit(table, vl_72b):
    for images in (1, 10):
        serve = {"max_model_len": 8192, "limit_mm_per_prompt": {"image": images, "video": 0}}
        question = asked(table, vl_72b, "0.19.1", V100, **serve)
        assert profiled_items(question.dims, question.settings, question.rules).encoded == 16384
    question = asked(table, vl_72b, "0.19.1", V100, limit_mm_per_prompt={"image": 0, "video": 0})
    assert profiled_items(question.dims, question.settings, question.rules).encoded == 0


def test_ten_images_on_volta_do_not_fit(table, vl_72b):
    # vllm-project/vllm issue 22173: out of memory in the tower's attention; with one image per prompt there is room.
    quantized = {**vl_72b, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}
    serve = {"tensor_parallel_size": 4, "max_model_len": 8192, "dtype": "float16", "kv_cache_dtype": "fp8_e5m2"}
    many, one = (
        size(
            SizingInputs(
                config=quantized,
                card=V100,
                release=Version("0.9.0.1"),
                engine="v0",
                serve_args={**serve, "limit_mm_per_prompt": {"image": n, "video": 1}},
            ),
            table,
        )
        for n in (10, 1)
    )
    assert (many.verdict, many.failure.kind) == ("does-not-fit", "encoder")
    assert one.failure is None


def test_attention_that_gathers_what_it_sharded(table, vl_72b):
    # vllm-project/vllm issue 16570, vLLM 0.8.3, four ranks: 2.51 GiB of peak with an image of 65,536 patches.
    serve = {"tensor_parallel_size": 4, "max_model_len": 8192, "max_num_seqs": 2}
    question = ask(SizingInputs(config=vl_72b, card=V100, release=Version("0.8.3"), engine="v0", serve_args=serve), table)
    _, tower = encoder_peaks(question.dims, question.settings, question.rules)
    assert tower / GIB == pytest.approx(2.51, abs=0.25)
    later = ask(SizingInputs(config=vl_72b, card=V100, release=Version("0.19.1"), serve_args=serve), table)
    assert encoder_peaks(later.dims, later.settings, later.rules)[1] < tower


def test_towers_of_3b_and_7b_on_24_gib(config, table, vl_3b):
    # One tower for both, 16,384 tokens of one image: what is kept differs by the hidden size alone, 64 and 112 MiB.
    answers = {}
    for name, shape in (("3b", vl_3b), ("7b", config("qwen2.5-vl-7b"))):
        serve = {"max_num_seqs": 64, "max_model_len": 8192, "gpu_memory_utilization": 0.9}
        question = asked(table, shape, "0.9.2", RTX4090, **serve)
        answers[name] = size(question.inputs, table)
        kept, _ = encoder_peaks(question.dims, question.settings, question.rules)
        beside = 2 * question.settings.batched_tokens * question.dims.hidden * 2
        assert (kept - beside) / 2**20 == {"3b": 64, "7b": 112}[name]
    small, large = answers["3b"], answers["7b"]
    assert large.per_gpu_gib.encoder - small.per_gpu_gib.encoder == pytest.approx(48 / 1024, abs=1e-3)
    assert small.verdict == large.verdict == "fits"
    # Sampling for 64 sequences: 260 to 390 MiB, not 39.
    assert 0.25 < small.per_gpu_gib.sampler < 0.4
    assert large.kv.tokens < small.kv.tokens


def test_an_image_limit_of_one_frees_nothing_and_none_does(config, table):
    free = {}
    for images in (0, 1, 2):
        serve = {"max_num_seqs": 64, "max_model_len": 8192, "limit_mm_per_prompt": {"image": images, "video": 0}}
        free[images] = size(asked(table, config("qwen2.5-vl-7b"), "0.19.1", RTX4090, **serve).inputs, table).per_gpu_gib.kv_cache
    assert free[1] == free[2] < free[0]


@pytest.mark.parametrize(
    ("batch", "sequences", "images", "items"),
    [(8192, 256, 999, 32), (2048, 256, 999, 8), (255, 64, 1, 1), (8192, 2, 4, 8), (8192, 1, 1, 1)],
)
def test_small_items_are_encoded_as_many_as_a_batch_holds(config, table, batch, sequences, images, items):
    # Gemma 3: 256 tokens an image, of 4,096 patches. vllm/v1/worker/utils.py, MultiModalBudget.
    serve = {"max_num_batched_tokens": batch, "max_num_seqs": sequences, "limit_mm_per_prompt": {"image": images}, "max_model_len": 8192}
    question = asked(table, config("gemma-3-27b"), "0.19.1", RTX4090, **serve)
    found = profiled_items(question.dims, question.settings, question.rules)
    assert (found.encoded, found.kept, found.patches) == (256 * items, 256 * items, 4096 * items)


def test_fewer_sequences_leave_the_tower_as_the_largest_pass(config, table):
    h100 = Card(name="NVIDIA H100 80GB HBM3", count=1, total_bytes=79.19 * GIB, capability=ComputeCapability(9, 0))
    serve = {"max_num_seqs": 16, "max_num_batched_tokens": 8192, "max_model_len": 8192}
    answer = size(asked(table, config("gemma-3-27b"), "0.19.1", h100, **serve).inputs, table)
    paid = {line.term for line in answer.account if line.charged}
    assert "encoder" in paid
    assert not {"sampler", "activation"} & paid
