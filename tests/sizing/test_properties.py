"""What must hold for every input: monotone where memory is, and never an exception."""

from __future__ import annotations

import json
import string

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.model.units import GIB
from envcheck.model.versions import lenient_version
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.kv_cache import bytes_per_token, cache_layers
from envcheck.sizing.question import ask
from envcheck.sizing.request import Sizer
from envcheck.sizing.result import size
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.suggest import suggest

MODELS = ["llama-3.1-8b", "qwen2.5-7b", "deepseek-v3", "gpt-oss-20b", "qwen3-30b-a3b", "gemma-3-27b", "qwen3.5-27b", "qwen2.5-vl-7b"]
RELEASES = ["0.2.7", "0.6.3", "0.7.3", "0.8.5", "0.10.2", "0.11.0", "0.15.1", "0.19.1", "0.20.0", "0.27.1", "0.33.0"]
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
models, releases = st.sampled_from(MODELS), st.sampled_from(RELEASES)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=True) | st.text(max_size=30)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4), max_leaves=12
)


def kv_memory(inputs, table, model, release, **serve):
    question = ask(inputs(model, release, **serve), table)
    return rank_budget(question, question.stages[0]).kv


@quick
@given(models, releases, st.integers(1, 2**20), st.integers(0, 2**20))
def test_a_longer_request_never_needs_less(inputs, table, model, release, context, more):
    pool = ask(inputs(model, release), table).pool()
    assert pool.request_bytes(context) <= pool.request_bytes(context + more)


@quick
@given(models, releases, st.integers(1, 2**16), st.integers(0, 2**16))
def test_a_larger_batch_never_leaves_more_cache(inputs, table, model, release, batch, more):
    small, large = (kv_memory(inputs, table, model, release, max_num_batched_tokens=n, max_num_seqs=1) for n in (batch, batch + more))
    assert large <= small + 1


@quick
@given(models, releases, st.integers(1, 1024), st.integers(0, 1024))
def test_more_sequences_never_leave_more_cache(inputs, table, model, release, sequences, more):
    few, many = (
        kv_memory(inputs, table, model, release, max_num_seqs=n, max_num_batched_tokens=8192) for n in (sequences, sequences + more)
    )
    assert many <= few + 1


@quick
@given(models, releases, st.sampled_from([1, 2, 4, 8, 16]))
def test_more_ranks_never_weigh_more_each(inputs, table, model, release, ranks):
    fewer, more = (ask(inputs(model, release, tensor_parallel_size=n), table) for n in (ranks, 2 * ranks))
    assert more.weights(more.stages[0]) <= fewer.weights(fewer.stages[0])
    tokens = [bytes_per_token(cache_layers(q.dims, q.settings, q.rules.kv_layout, q.rules.facts.kv_formats)) for q in (fewer, more)]
    assert tokens[1] <= tokens[0]


@quick
@given(models, releases, st.floats(0.05, 1.0), st.floats(0.0, 0.5))
def test_more_utilization_never_leaves_less_cache(inputs, table, model, release, share, more):
    low, high = (kv_memory(inputs, table, model, release, gpu_memory_utilization=u) for u in (share, min(1.0, share + more)))
    assert low <= high + 1


@quick
@given(models, st.sampled_from(RELEASES[3:]), st.floats(1.0, 500.0))  # before V1 the context itself changes what the profile runs
def test_a_longest_length_that_is_named_fits(inputs, table, model, release, gib):
    card = Card(name="any", count=1, total_bytes=gib * GIB)
    question = inputs(model, release, card)
    failure = size(question, table).failure
    if failure and failure.max_model_len:
        shorter = msgspec.structs.replace(question, serve_args={"max_model_len": failure.max_model_len})
        longer = msgspec.structs.replace(question, serve_args={"max_model_len": failure.max_model_len + 4096})
        after = size(shorter, table).failure
        assert after is None or after.kind != "kv-too-small"
        # The profile run of a multimodal model, and of V0 without chunked prefill, follows the length: then more memory is left.
        if size(longer, table).per_gpu_gib.kv_cache == size(question, table).per_gpu_gib.kv_cache:
            assert size(longer, table).failure is not None


FIELDS = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "layer_types",
    "block_configs",
    "rope_scaling",
    "quantization_config",
    "vision_config",
    "text_config",
    "sliding_window",
    "num_experts",
    "moe_layer_freq",
    "compress_ratios",
    "hybrid_override_pattern",
    "linear_attn_config",
    "kv_lora_rank",
    "architectures",
    "model_type",
    "torch_dtype",
    "mlp_only_layers",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=12), values, max_size=8), st.booleans())
@example({"layer_types": [[]] * 3, "num_hidden_layers": 3}, False)
@example({"block_configs": [None, {"attention": 3, "ffn": []}], "hidden_size": 2, "num_attention_heads": 1}, False)
def test_any_configuration_yields_dimensions(config, facts, overrides, whole):
    source = {**config("qwen3-30b-a3b"), **overrides} if whole else overrides
    Dimensions.from_config(source, facts.families)


ARGUMENTS = [
    "max_model_len",
    "tensor_parallel_size",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "dtype",
    "kv_cache_dtype",
    "limit_mm_per_prompt",
    "speculative_config",
    "compilation_config",
    "quantization",
    "block_size",
    "num_gpu_blocks_override",
    "pipeline_parallel_size",
    "cpu_offload_gb",
    "kv_cache_memory_bytes",
    "swap_space",
    "cudagraph_capture_sizes",
    "runner",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models, st.dictionaries(st.sampled_from(ARGUMENTS), values, max_size=6), releases)
@example("llama-3.1-8b", {"block_size": 65536, "max_num_seqs": 2**19, "tensor_parallel_size": 4096}, "0.19.1")
@example("qwen3.5-27b", {"pipeline_parallel_size": 1024}, "0.19.1")
def test_any_argument_yields_an_answer(inputs, table, model, serve, release):
    question = inputs(model, release, **serve)
    answer = size(question, table)
    suggested = suggest(question, table)
    assert len(suggested.why) == len(suggested.serve_args)
    json.dumps(msgspec.to_builtins(answer))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=string.printable, max_size=40), st.text(max_size=20), st.dictionaries(st.sampled_from(FIELDS), values, max_size=6))
def test_any_request_yields_an_answer(facts, version, engine, config):
    sizer = Sizer(facts, lambda name: None)
    request = Request(model=version, model_config=config, engine=engine)
    host = msgspec.convert({"gpus": [{"name": version, "memory_mib": 24576}], "environment": {engine: version}}, HostReport)
    assert sizer.size_request(host, request, None, lenient_version(version), engine).verdict in ("fits", "tight", "does-not-fit", "unknown")


def test_many_odd_releases_fill_no_memory(table, config):
    for number in range(1200):
        size(SizingInputs(config=config("qwen2.5-7b"), release=Version(f"0.{number}.{number}")), table)
    assert len(table._rules) <= 512
