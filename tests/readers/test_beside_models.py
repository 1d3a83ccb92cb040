"""Adapters, drafts and quantization that stand in other files than the model's own configuration."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.cli.memory import model_notes
from envcheck.errors import UsageError
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.readers.adapter import adapter_rank, read_adapter
from envcheck.readers.beside import adapter_places, draft_name, with_beside
from envcheck.readers.model import Places, find_model
from envcheck.readers.quantization_files import quantization_of, with_quantization

# As peft writes it, shortened.
ADAPTER = {
    "base_model_name_or_path": "acme/base",
    "peft_type": "LORA",
    "r": 16,
    "rank_pattern": {"down_proj": 64},
    "target_modules": ["q_proj", "v_proj"],
    "modules_to_save": None,
}
SPEC = ModelSpec("acme/base", {}, ModelSource("request", ""))


def weight_file() -> bytes:
    listed = {
        "a": {"dtype": "F32", "shape": [16, 8], "data_offsets": [0, 512]},
        "b": {"dtype": "F32", "shape": [8, 16], "data_offsets": [512, 1024]},
    }
    header = json.dumps(listed).encode()
    return len(header).to_bytes(8, "little") + header


def test_an_adapter(host):
    files = {"/lora/adapter_config.json": json.dumps(ADAPTER).encode(), "/lora/adapter_model.safetensors": weight_file()}
    adapter = read_adapter("sql", "/lora/", host(files))
    assert (adapter.name, adapter.rank, adapter.targets, adapter.base) == ("sql", 64, ("q_proj", "v_proj"), "acme/base")
    assert adapter.size_bytes == 1024
    del files["/lora/adapter_model.safetensors"]
    assert read_adapter("sql", "/lora", host(files)).size_bytes is None


@pytest.mark.parametrize("config", [None, b"{}", b'{"r": true}', b'{"r": -1}', b'{"r": "8"}', b'{"r": 1e9}'])
def test_what_is_no_adapter(host, config):
    with pytest.raises(UsageError):
        read_adapter("x", "/lora", host({"/lora/adapter_config.json": config} if config else {}))


RANKS = st.none() | st.integers() | st.text() | st.dictionaries(st.text(), st.integers())


@given(st.dictionaries(st.sampled_from(["r", "rank_pattern"]), RANKS))
def test_any_rank_is_bounded(config):
    rank = adapter_rank(config)
    assert rank is None or 0 < rank <= 1 << 16


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, None),
        ({"speculative_config": '{"model": "acme/eagle", "method": "eagle3", "num_speculative_tokens": 3}'}, "acme/eagle"),
        ({"speculative_config": {"model": "/m/draft"}}, "/m/draft"),
        ({"speculative_config": {"method": "ngram", "num_speculative_tokens": 3}}, None),
        ({"speculative_config": {"model": "ngram"}}, None),
        ({"speculative_config": '{"model": '}, None),
        ({"speculative_config": {"model": 5}}, None),
        ({"speculative_model": "[ngram]"}, None),
        ({"speculative_model": "acme/draft"}, "acme/draft"),
        ({"spec_model": "acme/draft", "spec_method": "eagle3"}, "acme/draft"),
        ({"spec_model": "acme/draft", "spec_method": "ngram_gpu"}, None),
        ({"speculative_config.model": "acme/draft", "speculative_config.num_speculative_tokens": 2}, "acme/draft"),
        ({"speculative_config": {"method": ["x"], "model": "acme/draft"}}, "acme/draft"),
    ],
)
def test_the_draft_model_that_is_named(arguments, name):
    assert draft_name(arguments) == name


@pytest.mark.parametrize(
    ("value", "places"),
    [
        (None, []),
        ("sql=/a", [("sql", "/a")]),
        ("sql=/a chat=b", [("sql", "/a"), ("chat", "b")]),
        (["sql=/a", '{"name": "chat", "path": "/b", "base_model_name": "x"}'], [("sql", "/a"), ("chat", "/b")]),
        ([{"name": "chat", "path": "/b"}], [("chat", "/b")]),
        ([5, {"name": 5, "path": []}, "noname", "x=", "=y", '{"name"'], []),
    ],
)
def test_the_adapters_that_are_named(value, places):
    assert adapter_places({"lora_modules": value}) == places


def test_what_stands_beside_the_model(host):
    files = {
        "/w/lora/adapter_config.json": json.dumps(ADAPTER).encode(),
        "/w/draft/config.json": b'{"hidden_size": 8}',
        "/w/draft/model.safetensors": weight_file(),
    }
    system = host(files)
    arguments = {"lora_modules": ["sql=lora", "gone=/nowhere"], "speculative_config": {"model": "/w/draft"}}
    find = lambda name: find_model(name, system, lambda name: None, Places("https://hub.example"))  # noqa: E731
    spec = with_beside(SPEC, arguments, system, find, "/w")
    assert spec.draft is not None
    assert (spec.draft.config, spec.draft.weights_bytes) == ({"hidden_size": 8}, 1024)
    assert [adapter.name for adapter in spec.adapters] == ["sql"]
    assert spec.unread == ("/nowhere",)
    assert with_beside(SPEC, {}, system, find) is SPEC


def test_a_draft_that_cannot_be_had_is_said(host):
    system = host(answers={})
    spec = with_beside(
        SPEC,
        {"speculative_model": "/gone"},
        system,
        lambda name: find_model(name, system, lambda name: None, Places("https://hub.example")),
    )
    assert (spec.draft, spec.unread) == (None, ("/gone",))


@pytest.mark.parametrize(
    ("found", "method"),
    [
        ({"bits": 4, "group_size": 128, "desc_act": True, "sym": True}, "gptq"),
        ({"w_bit": 4, "q_group_size": 128, "zero_point": True, "version": "GEMM"}, "awq"),
        ({"bits": 8, "quant_method": "marlin"}, "marlin"),
        ({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}, "modelopt"),
        ({"bits": True}, None),
        ({"bits": "four"}, None),
        ({"quantization": {"quant_algo": None}}, None),
        ({}, None),
    ],
)
def test_quantization_in_other_tools_words(found, method):
    quantization = quantization_of(found)
    assert (quantization["quant_method"] if quantization else None) == method


def test_the_configuration_s_own_word_comes_first():
    config = {"quantization_config": {"quant_method": "fp8"}}
    assert with_quantization(config, lambda: [{"bits": 4}]) is config


def test_a_folder_whose_quantization_stands_in_another_file(host):
    files = {
        "/m/config.json": b"{}",
        "/m/hf_quant_config.json": b'{"quantization": {"quant_algo": "FP8"}}',
        "/m/quantize_config.json": b"broken",
    }
    config = find_model("/m", host(files), lambda name: None, Places("https://hub.example")).config
    assert config["quantization_config"] == {"quant_method": "modelopt", "quant_algo": "FP8"}


def test_what_was_not_read_is_said():
    spec = ModelSpec("acme/base", {}, ModelSource("hub", "", cached_s=3 * 86_400 + 5), unread=("acme/draft", "/lora"))
    assert [(note.key, *note.params.values()) for note in model_notes(spec)] == [
        ("note.model-unread", "acme/draft"),
        ("note.model-unread", "/lora"),
        ("note.model-kept", "acme/base", 3),
    ]
    assert model_notes(SPEC) == []
