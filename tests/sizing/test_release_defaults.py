"""Defaults beside what the releases' own configuration check chose on the CUDA platform for a small Llama of 2,048 tokens."""

from __future__ import annotations

import pytest
from packaging.version import Version

from envcheck.model.units import GIB, MIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.graphs import capture_sizes
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask

SMALL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}
CARDS = {
    "h20": Card(name="NVIDIA H20", count=8, nvml_bytes=97871 * MIB, capability=ComputeCapability(9, 0), nvlink=True),
    "4090": Card(name="NVIDIA GeForce RTX 4090", count=1, nvml_bytes=24564 * MIB, capability=ComputeCapability(8, 9)),
    "t4": Card(name="Tesla T4", count=1, nvml_bytes=15360 * MIB, capability=ComputeCapability(7, 5)),
}
EAGER = {"enforce_eager": True}
NGRAM = {"speculative_config": {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}}


# VllmConfig of each release as it stood after EngineArgs.create_engine_config; sizes = length and largest of the capture list.
@pytest.mark.parametrize(
    ("release", "card", "serve", "chosen", "sizes"),
    [
        ("0.9.2", "h20", {}, (0.9, 1024, 8192), (67, 512)),
        ("0.9.2", "h20", {"max_num_seqs": 64}, (0.9, 64, 8192), (67, 512)),
        ("0.9.2", "4090", {}, (0.9, 256, 2048), (67, 512)),
        ("0.11.2", "h20", {}, (0.9, 1024, 8192), (51, 512)),
        ("0.11.2", "h20", {"max_num_seqs": 64}, (0.9, 64, 8192), (19, 128)),
        ("0.15.1", "h20", {}, (0.9, 1024, 8192), (51, 512)),
        ("0.15.1", "h20", EAGER, (0.9, 1024, 8192), (0, 0)),
        ("0.18.1", "h20", {}, (0.9, 1024, 8192), (51, 512)),
        ("0.20.2", "h20", NGRAM, (0.92, 1024, 8192), (51, 512)),
        ("0.20.2", "4090", {}, (0.92, 256, 2048), (51, 512)),
        ("0.26.0", "h20", {"max_num_seqs": 64}, (0.92, 64, 8192), (19, 128)),
        ("0.32.0", "4090", {"max_num_seqs": 64}, (0.92, 64, 2048), (19, 128)),
        ("0.32.0", "t4", {}, (0.92, 256, 2048), (51, 512)),
        ("0.33.0", "h20", {}, (0.92, 1024, 8192), (51, 512)),
        ("0.33.0", "h20", EAGER, (0.92, 1024, 8192), (0, 0)),
    ],
)
def test_what_the_release_chose(table, release, card, serve, chosen, sizes):
    question = ask(SizingInputs(config=SMALL, card=CARDS[card], release=Version(release), serve_args=serve), table)
    settings = question.settings
    assert (settings.utilization, settings.sequences, settings.batched_tokens) == chosen
    listed = capture_sizes(settings, question.rules.graph_sizes) if settings.graphs else []
    assert (len(listed), max(listed, default=0)) == sizes


# vllm/engine/arg_utils.py, default_max_num_batched_tokens by usage context.
@pytest.mark.parametrize(
    ("release", "name", "gib", "server", "program"),
    [
        ("0.8.4", "NVIDIA H100 80GB HBM3", 79.19, 8192, 16384),
        ("0.8.4", "NVIDIA A100-SXM4-80GB", 79.25, 2048, 8192),
        ("0.19.1", "NVIDIA H100 80GB HBM3", 79.19, 8192, 16384),
        ("0.19.1", "NVIDIA A100-SXM4-80GB", 79.25, 2048, 8192),
        ("0.32.0", "NVIDIA GeForce RTX 4090", 23.65, 2048, 8192),
    ],
)
def test_a_program_batches_more_than_the_server(table, release, name, gib, server, program):
    card = Card(name=name, count=1, total_bytes=gib * GIB)
    asked = [SizingInputs(config=SMALL, card=card, release=Version(release), engine="v1", llm_class=told) for told in (False, True)]
    assert [ask(one, table).settings.batched_tokens for one in asked] == [server, program]


def test_a_batch_asked_for_holds_for_both(table):
    serve = {"max_num_batched_tokens": 3072}
    asked = SizingInputs(config=SMALL, card=CARDS["h20"], release=Version("0.19.1"), serve_args=serve, llm_class=True)
    assert ask(asked, table).settings.batched_tokens == 3072
