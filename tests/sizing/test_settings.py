"""Settings in force: what was asked, however it was spelt, and the defaults of releases on cards."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.sizing.graphs import capture_sizes, graph_count
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask
from envcheck.sizing.settings import context_length


def card(name, gib):
    return Card(name=name, count=1, total_bytes=gib * GIB)


# As vllm/engine/arg_utils.py of each release decides for an API server.
@pytest.mark.parametrize(
    ("release", "name", "gib", "sequences", "batched"),
    [
        ("0.7.3", "NVIDIA A10", 22.06, 256, 32768),  # V0: the whole context
        ("0.8.4", "NVIDIA A10", 22.06, 1024, 2048),
        ("0.8.4", "NVIDIA H100 80GB HBM3", 79.19, 1024, 8192),
        ("0.8.5", "NVIDIA A10", 22.06, 256, 2048),
        ("0.8.5", "NVIDIA A100-SXM4-80GB", 79.25, 1024, 8192),
        ("0.9.0", "NVIDIA A100-SXM4-80GB", 79.25, 256, 2048),
        ("0.9.0", "NVIDIA A800-SXM4-80GB", 79.25, 1024, 8192),
        ("0.19.1", "NVIDIA H20", 95.0, 1024, 8192),
        ("0.27.1", "NVIDIA B200", 178.0, 1024, 8192),
        ("0.28.0", "NVIDIA B200", 178.0, 1024, 16384),
        ("0.32.0", "NVIDIA GB10", 121.7, 1024, 8192),
        ("0.33.0", "NVIDIA GB10", 121.7, 256, 2048),
    ],
)
def test_defaults(inputs, table, release, name, gib, sequences, batched):
    settings = ask(inputs("qwen2.5-7b", release, card(name, gib)), table).settings
    assert (settings.sequences, settings.batched_tokens) == (sequences, batched)


@pytest.mark.parametrize(
    ("release", "share"), [("0.19.1", 0.9), ("0.20.0", 0.92), ("0.20.0rc1", 0.92), ("0.26.1rc1.dev608+g1a2b", 0.92), ("0.8.5.post1", 0.9)]
)
def test_default_utilization(inputs, table, release, share):
    assert ask(inputs("qwen2.5-7b", release), table).settings.utilization == share


def test_an_unknown_release_follows_the_newest_rules(inputs, table):
    assert ask(inputs("qwen2.5-7b", None), table).settings.utilization == ask(inputs("qwen2.5-7b", "0.33.0"), table).settings.utilization


@pytest.mark.parametrize(
    ("value", "tokens"),
    [(32768, 32768), ("32768", 32768), ("32k", 32000), ("32K", 32768), ("1M", 1048576), (4096.0, 4096),
     ("auto", None), (-1, None), (None, None), ("", None), ([], None), ({}, None), (10**40, None), ("9" * 5000, None), (True, None)],
)  # fmt: skip
def test_lengths(value, tokens):
    assert context_length(value) == tokens


def test_arguments_in_any_spelling(inputs, table):
    question = inputs("qwen2.5-7b", **{"--max-model-len": "8k", "Tensor-Parallel-Size": "2", "enforce_eager": "true"})
    settings = ask(question, table).settings
    assert (settings.context, settings.tensor_ranks, settings.graphs) == (8000, 2, False)


def test_objects_in_any_spelling(inputs, table):
    for spelt in ({"image": 4, "video": 0}, '{"image": 4, "video": 0}', "{'image': 4, 'video': 0}", {"image": {"count": 4}, "video": 0}):
        assert ask(inputs("qwen2.5-vl-7b", limit_mm_per_prompt=spelt), table).settings.limits == {"image": 4, "video": 0}


def test_the_engine_a_release_does_not_have(inputs, table):
    question = msgspec.structs.replace(inputs("qwen2.5-7b", "0.19.1"), engine="v0")
    assert ask(question, table).rules.engine == "v1"
    assert ask(msgspec.structs.replace(question, release=None), table).rules.engine == "v1"


# vllm/config/compilation.py: the number of sizes a release logs as its capture list.
@pytest.mark.parametrize(
    ("release", "serve", "sizes", "largest", "graphs"),
    [
        ("0.8.5", {}, 67, 512, 67),
        ("0.10.1", {"max_num_seqs": 16}, 7, 32, 7),
        ("0.19.1", {}, 51, 512, 102),
        ("0.19.1", {"max_num_seqs": 256}, 51, 512, 86),
        ("0.19.1", {"max_num_seqs": 64}, 19, 128, 30),
        ("0.19.1", {"max_num_batched_tokens": 100}, 15, 96, 30),
        ("0.19.1", {"compilation_config": {"cudagraph_mode": "PIECEWISE"}}, 51, 512, 51),
        ("0.19.1", {"compilation_config": '{"cudagraph_capture_sizes": [1, 8, 64]}'}, 3, 64, 6),
    ],
)
def test_graphs_captured(inputs, table, release, serve, sizes, largest, graphs):
    question = ask(inputs("qwen2.5-7b", release, **serve), table)
    listed = capture_sizes(question.settings, question.rules.graph_sizes)
    assert (len(listed), max(listed)) == (sizes, largest)
    assert graph_count(question.settings, question.rules) == graphs


def test_no_graphs_in_eager_mode(inputs, table):
    question = ask(inputs("qwen2.5-7b", enforce_eager=True), table)
    assert graph_count(question.settings, question.rules) == 0


@pytest.mark.parametrize(
    ("release", "model", "environment", "runner"),
    [
        ("0.24.0", "llama-3.1-8b", {}, "v2"),
        ("0.24.0", "qwen2.5-7b", {}, "v1"),
        ("0.25.0", "qwen2.5-7b", {}, "v2"),
        ("0.25.0", "qwen3-30b-a3b", {}, "v1"),
        ("0.29.0", "qwen3-30b-a3b", {}, "v2"),
        ("0.29.0", "qwen3-30b-a3b", {"VLLM_USE_V2_MODEL_RUNNER": "0"}, "v1"),
        ("0.19.1", "qwen2.5-7b", {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "v2"),
        ("0.11.0", "qwen2.5-7b", {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "v1"),
    ],
)
def test_the_model_runner(inputs, table, release, model, environment, runner):
    assert ask(msgspec.structs.replace(inputs(model, release), environment=environment), table).runner == runner


@pytest.mark.parametrize(
    ("release", "environment", "budgeted"),
    [
        ("0.17.1", {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "1"}, False),
        ("0.19.1", {}, False),
        ("0.19.1", {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "1"}, True),
        ("0.20.0", {}, True),
        ("0.20.0", {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}, False),
        ("0.27.1", {}, False),  # the second runner estimates none before 0.29
        ("0.29.0", {}, True),
    ],
)
def test_who_pays_for_graphs(inputs, table, release, environment, budgeted):
    assert ask(msgspec.structs.replace(inputs("qwen2.5-7b", release), environment=environment), table).graphs_budgeted is budgeted


def test_an_early_second_runner_took_no_quantized_model(config, table):
    plain = {**config("llama-3.1-8b")}
    packed = {**plain, "quantization_config": {"quant_method": "fp8"}}
    runners = [ask(SizingInputs(config=each, release=Version("0.23.0")), table).runner for each in (plain, packed)]
    assert runners == ["v2", "v1"]


# vllm/config.py of V0: at least 5,120 tokens for multimodal models (0.6.0 on), 32,768 for pooling ones (0.6.5 on), both until 0.8.5.post1.
@pytest.mark.parametrize(
    ("release", "model", "serve", "batched"),
    [
        ("0.5.5", "qwen2.5-vl-7b", {"max_model_len": 4096}, 4096),
        ("0.7.3", "qwen2.5-vl-7b", {"max_model_len": 4096}, 5120),
        ("0.7.3", "qwen2.5-7b", {"max_model_len": 4096}, 4096),
        ("0.7.3", "qwen2.5-7b", {"max_model_len": 4096, "task": "embed"}, 32768),
        ("0.6.3", "qwen2.5-7b", {"max_model_len": 4096, "task": "embed"}, 4096),
        ("0.9.2", "qwen2.5-7b", {"max_model_len": 4096, "task": "embed"}, 4096),
        ("0.7.3", "qwen2.5-7b", {"max_model_len": 4096, "task": "embed", "max_num_batched_tokens": 8192}, 8192),
    ],
)
def test_batches_of_v0(inputs, table, release, model, serve, batched):
    question = msgspec.structs.replace(inputs(model, release, card("NVIDIA A10", 22.06), **serve), engine="v0")
    assert ask(question, table).settings.batched_tokens == batched


@pytest.mark.parametrize(
    ("release", "serve", "sequences", "batched"),
    [
        ("0.11.0", {"max_num_seqs": 1, "max_model_len": 512}, 1, 2048),
        ("0.11.1", {"max_num_seqs": 1, "max_model_len": 512}, 1, 512),
        ("0.16.0", {"performance_mode": "throughput"}, 256, 2048),
        ("0.17.0", {"performance_mode": "throughput"}, 512, 4096),
        ("0.17.0", {"performance_mode": "interactivity"}, 256, 2048),
        ("0.17.0", {"performance_mode": "throughput", "max_num_seqs": 32}, 32, 4096),
    ],
)
def test_batches_of_v1(inputs, table, release, serve, sequences, batched):
    settings = ask(inputs("qwen2.5-7b", release, card("NVIDIA A10", 22.06), **serve), table).settings
    assert (settings.sequences, settings.batched_tokens) == (sequences, batched)
