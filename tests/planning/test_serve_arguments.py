"""Generated serve arguments against the arguments of the releases as they were collected: no name, value or form that a release lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.cli.memory import known_spec, size_as_planned
from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.plan import ServeConfig
from envcheck.model.request import Request
from envcheck.model.text import Text
from envcheck.planning.serve import Facts, serve_config
from envcheck.planning.serving.models import feature_words
from envcheck.planning.serving.spelling import Wanted, spell
from envcheck.render.catalogue import Catalogue, Lang
from envcheck.render.serve_text import serve_argv

RAW = json.loads((Path(__file__).parents[1] / "truth" / "raw_serve_flags.json").read_text(encoding="utf-8"))
ORDER: dict[str, int] = {version: place for place, version in enumerate(RAW["releases"])}
PARSERS: list[int] = [ORDER[version] for version in RAW["parsers"]]
MATRIX = Matrix(Path(__file__).parents[2] / "matrices")

CARDS = {
    "t4": ("Tesla T4", "7.5", 15360, 1),
    "4090": ("NVIDIA GeForce RTX 4090", "8.9", 24564, 2),
    "a100": ("NVIDIA A100-SXM4-80GB", "8.0", 81920, 4),
    "h20": ("NVIDIA H20", "9.0", 97871, 8),
    "5090": ("NVIDIA GeForce RTX 5090", "12.0", 32607, 1),
}
MODELS = (
    "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen2.5-VL-7B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen2.5-0.5B-Instruct",
)
RELEASES = (
    "0.5.5",
    "0.6.6.post1",
    "0.7.3",
    "0.8.4",
    "0.8.5",
    "0.9.2",
    "0.10.2",
    "0.11.2",
    "0.14.1",
    "0.17.1",
    "0.19.1",
    "0.23.0",
    "0.28.0",
    "0.33.0",
)
ASKED: list[dict[str, Any]] = [
    {"swap_space": 4},
    {"limit_mm_per_prompt": {"image": 2}},
    {"limit_mm_per_prompt": "image=2,video=0"},
    {"limit_mm_per_prompt": '{"image": 1}'},
    {"attention_backend": "FLASHINFER"},
    {"log_level": "debug"},
    {"enable_prefix_caching": False},
    {"enable_chunked_prefill": False},
    {"no_enable_prefix_caching": True},
    {"disable_chunked_prefill": True},
    {"enable_reasoning": True, "reasoning_parser": "deepseek_r1"},
    {"num_scheduler_steps": 8},
    {"task": "embed"},
    {"task": "generate"},
    {"guided_decoding_backend": "xgrammar"},
    {"structured_outputs_config": {"backend": "xgrammar"}},
    {"speculative_config": {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}},
    {"speculative_config": '{"model": "a/b", "num_speculative_tokens": 3}'},
    {"speculative_model": "a/b", "num_speculative_tokens": 5},
    {"speculative_model": "[ngram]", "num_speculative_tokens": 5, "ngram_prompt_lookup_max": 4},
    {"lora_modules": ["a=/x", "b=/y"], "enable_lora": True},
    {"served_model_name": ["one", "two"]},
    {"disable_log_requests": True},
    {"enable_log_requests": True},
    {"max_model_len": "8k"},
    {"max_num_batched_tokens": "4K"},
    {"kv_cache_dtype": "fp8"},
    {"kv_cache_dtype": "int4_per_token_head"},
    {"compilation_config": {"level": 3}},
    {"cuda_graph_sizes": [1, 2, 4]},
    {"cudagraph_capture_sizes": [1, 2, 4]},
    {"disable_mm_preprocessor_cache": True},
    {"mm_processor_cache_gb": 0},
    {"mm_processor_cache_gb": 8},
    {"device": "cpu"},
    {"worker_use_ray": True},
    {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
    {"eplb_window_size": 1000, "num_redundant_experts": 2},
    {"use_deepgemm": True},
    {"max_tokens": 100, "truncate_prompt_tokens": 100},
    {"dtype": "half", "quantization": "awq", "seed": 1},
    {"max_logp": 5},
    {"no_such_argument": "x"},
    {"enforce_eager": "yes"},
    {"max_model_len": "long"},
    {"max_model_len": True},
    {"limit_mm_per_prompt": "two"},
    {"disable_log_stats": False},
    {"async_scheduling": False},
    {"trust_remote_code": True, "enforce_eager": True},
    {"hf_overrides": {"a": 1}},
]


def within(ranges: list[list[int]], place: int) -> bool:
    return any(first <= place <= last for first, last, *_ in ranges)


def near(place: int) -> list[int]:
    """The parsers that were run next to a release, as places among them; one that is it itself stands alone."""
    if place in PARSERS:
        return [PARSERS.index(place)]
    older, newer = [p for p in PARSERS if p < place], [p for p in PARSERS if p > place]
    return [PARSERS.index(p) for p in (*older[-1:], *newer[:1])]


def forms(name: str, place: int) -> list[dict[str, Any]]:
    """What these parsers make of an argument."""
    return [form for index in near(place) for first, last, form in RAW["forms"].get(name, []) if first <= index <= last]


def problems(argv: list[str], release: str) -> Iterator[str]:
    """What a release would refuse in the words behind `vllm serve MODEL`."""
    place, position = ORDER[release], 3
    while position < len(argv):
        word = argv[position]
        position += 1
        if not word.startswith("--"):
            yield f"{word} belongs to nothing"
            continue
        values = []
        while position < len(argv) and not argv[position].startswith("--"):
            values.append(argv[position])
            position += 1
        yield from refused(word, values, place)


def refused(word: str, values: list[str], place: int) -> Iterator[str]:
    registered = within(RAW["registered"].get(word, []), place)
    known = forms(word, place)
    # The list read from the source lacks what parsers are given in other ways. 0.33.0 lists `--disable-x` as the other half of
    # `--enable-x`, and takes `--no-enable-x` as before without listing it.
    pair = forms(word.replace("--no-enable-", "--disable-"), place) if word.startswith("--no-enable-") else []
    if not (registered or pair or (word.startswith("--no-") and known) or len(known) == len(near(place))):
        yield f"{word} is not in the release"
    switch = [form.get("nargs") == 0 for form in known]
    several = any(form.get("nargs") in ("+", "*") for form in known)
    if known and all(switch) and values:
        yield f"{word} is a switch and has {values}"
    if known and not any(switch) and not values and not any(form.get("nargs") in ("?", "*") for form in known):
        yield f"{word} has no value"
    if len(values) > 1 and known and not several:
        yield f"{word} has {values}"
    for value in values:
        choices = [[str(choice) for choice in form["choices"]] for form in known if form.get("choices")]
        if choices and len(choices) == len(known) and not any(value in listed for listed in choices):
            yield f"{word} does not take {value}"
    if word == "--limit-mm-per-prompt" and place < ORDER["0.8.5"] and values[0].startswith("{"):
        yield "pairs are wanted"
    if word == "--limit-mm-per-prompt" and place >= ORDER["0.10.0"] and not values[0].startswith("{"):
        yield "an object is wanted"
    if word in ("--max-model-len", "--max-num-batched-tokens") and place < ORDER["0.8.4"] and not values[0].isdigit():
        yield f"{word} takes digits"


def refused_variables(config: ServeConfig, release: str) -> list[str]:
    ours = [setting.flag for setting in config.environment if setting.flag.startswith("VLLM_")]
    return [name for name in ours if not within(RAW["variables"].get(name, []), ORDER[release])]


def host_of(card: str) -> HostReport:
    name, capability, memory, count = CARDS[card]
    gpus = [{"index": place, "name": name, "compute_capability": capability, "memory_mib": memory} for place in range(count)]
    return msgspec.convert({"os": {"arch": "x86_64", "glibc": "2.35"}, "driver": {"version": "580.95.05"}, "gpus": gpus}, HostReport)


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("model", MODELS)
def test_what_is_planned_for_a_host_and_a_model_is_taken_by_the_release(card: str, model: str) -> None:
    """Five cards, five models, fourteen releases: 350 commands."""
    for vllm in RELEASES:
        release, request = MATRIX.release(vllm), Request(vllm=vllm, model=model)
        spec = known_spec(request, MATRIX)
        assert release is not None
        assert spec is not None
        size = size_as_planned(host_of(card), MATRIX, request, spec, release.version, None)
        config = serve_config(spec, size, (), (), Facts(MATRIX, vllm), {})
        assert list(problems(serve_argv(config), vllm)) == [], vllm
        assert refused_variables(config, vllm) == []


@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_what_is_asked_for_is_written_as_each_release_takes_it(asked: dict[str, Any]) -> None:
    spec = known_spec(Request(model=MODELS[0]), MATRIX)
    assert spec is not None
    for vllm in RAW["releases"][ORDER["0.5.5"] :]:
        config = serve_config(spec, None, (), (), Facts(MATRIX, vllm), asked)
        assert list(problems(serve_argv(config), vllm)) == [], vllm
        assert refused_variables(config, vllm) == []


@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_nothing_that_was_asked_for_vanishes_without_a_word(asked: dict[str, Any]) -> None:
    """Each argument is in the command, or a note names it; off is off also where nothing is written."""
    for vllm in RELEASES:
        release = MATRIX.release(vllm)
        assert release is not None
        spelt = spell(MATRIX.flags, release.version, vllm, [Wanted(key, value, Text("why")) for key, value in asked.items()])
        written = {setting.flag.replace("--no-", "--") for setting in spelt.settings}
        told = {str(note.params.get("flag")) for note in spelt.notes}
        for key, value in asked.items():
            name = "--" + key.replace("_", "-")
            off = name.replace("--no-", "--")  # a note on what stays on names that
            assert {name, off} & (written | told) or value is False, (vllm, name)


def test_what_a_recipe_adds_is_taken_by_every_release_that_it_is_for() -> None:
    """188 recipes on the releases from their own minimum on: their minima cover the base command at best."""
    seen = 0
    for recipe in MATRIX.knowledge.recipes:
        spec = ModelSpec(recipe.id, {}, ModelSource("catalogue", "-"))
        for vllm in RELEASES:
            release = MATRIX.release(vllm)
            assert release is not None
            config = serve_config(spec, None, (), (), Facts(MATRIX, vllm), {})
            assert list(problems(serve_argv(config), vllm)) == [], (recipe.id, vllm)
            for words in (recipe.tools, recipe.reasoning, recipe.speculation):
                added = feature_words(MATRIX, release, words)
                assert list(problems(["vllm", "serve", recipe.id, *added], vllm)) == [], (recipe.id, vllm)
                seen += bool(added)
    assert seen > 1000


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_note_is_a_sentence(lang: Lang) -> None:
    catalogue, seen = Catalogue(lang), set()
    for asked in ASKED:
        for vllm in RELEASES:
            release = MATRIX.release(vllm)
            assert release is not None
            for note in spell(MATRIX.flags, release.version, vllm, [Wanted(key, value, Text("why")) for key, value in asked.items()]).notes:
                assert vllm in catalogue.text(note)
                assert str(note.params["flag"]) in catalogue.text(note)
                seen.add(note.key)
    known = json.loads((Path(__file__).parents[2] / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    assert {key for key in known if key.startswith("serve.note.argument-")} == seen


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.sampled_from(["--trust-remote-code", "-x", "--"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for asked in ASKED for key in asked} | {"api_key", "limit_mm_per_prompt.video", "no", "_", "x" * 200})


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=20), JSON_VALUES, max_size=4), st.sampled_from(RELEASES))
@settings(deadline=None)
def test_whatever_is_asked_for_a_command_comes_out(asked: dict[str, Any], vllm: str) -> None:
    spec = ModelSpec("a/b", {}, ModelSource("catalogue", "-"))
    config = serve_config(spec, None, (), (), Facts(MATRIX, vllm), asked)
    argv = serve_argv(config)
    assert argv[:3] == ["vllm", "serve", "a/b"]
    assert all(len(word) <= 4096 for word in argv)
    assert argv.count("--host") == 1
    assert not any(setting.flag in ("--api-key", "VLLM_API_KEY") and setting.value for setting in (*config.settings, *config.environment))
    assert not any(word.startswith("--") for setting in config.settings for word in setting.words[1:])
    for note in config.notes:
        Catalogue("en").text(note)


def test_a_value_that_looks_like_an_argument_is_tied_to_its_own() -> None:
    """Behind a space a parser would take it for what it looks like, and run the model's own code."""
    spec = ModelSpec("a/b", {}, ModelSource("catalogue", "-"))
    config = serve_config(spec, None, (), (), Facts(MATRIX, "0.33.0"), {"chat_template": "--trust-remote-code", "seed": -1})
    assert "--chat-template=--trust-remote-code" in serve_argv(config)
    assert "--trust-remote-code" not in serve_argv(config)
    assert serve_argv(config)[-2:] == ["--seed", "-1"]
