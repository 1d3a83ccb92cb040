"""What is known of models: releases by architecture, features of recipes by release, code of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.versions import ComputeCapability
from envcheck.planning.serving.models import feature_words, model_notes, recipe_arguments, releases_knowing, variant_notes
from envcheck.render.catalogue import Catalogue, Lang

TOP = Path(__file__).parents[2]
MATRIX = Matrix(TOP / "matrices")


def spec(name: str, **config: Any) -> ModelSpec:
    return ModelSpec(name, config, ModelSource("catalogue", "-"))


def notes(name: str, vllm: str, asked: dict[str, Any] | None = None, **config: Any) -> dict[str, str]:
    release = MATRIX.release(vllm)
    assert release is not None
    return {
        note.key.removeprefix("serve.note."): Catalogue("en").text(note)
        for note in model_notes(MATRIX, release, spec(name, **config), asked or {})
    }


def words(name: str, feature: str, vllm: str) -> list[str]:
    recipe, release = MATRIX.knowledge.recipe(name), MATRIX.release(vllm)
    assert recipe is not None
    assert release is not None
    return feature_words(MATRIX, release, getattr(recipe, feature))


@pytest.mark.parametrize(
    ("model", "feature", "before", "since"),
    [
        # The parser came with 0.10.2, though the recipe asks for 0.10.1.
        ("openai/gpt-oss-120b", "tools", "0.10.1.1", "0.10.2"),
        # The parser came with 0.9.0, though the recipe asks for 0.8.5.
        ("Qwen/Qwen3-8B", "reasoning", "0.8.5.post1", "0.9.0"),
        # Speculation is JSON from 0.8.2 on; the recipe asks for 0.6.0.
        ("meta-llama/Llama-3.1-8B-Instruct", "speculation", "0.7.3", "0.8.5"),
    ],
)
def test_a_feature_is_offered_from_the_release_that_has_it(model: str, feature: str, before: str, since: str) -> None:
    assert words(model, feature, before) == []
    assert words(model, feature, since) != []


def test_a_recipe_is_found_by_the_name_of_any_of_its_checkpoints() -> None:
    recipe = MATRIX.knowledge.recipe("redhatai/qwen3-235b-a22b-instruct-2507-nvfp4")
    assert recipe is not None
    assert recipe.id == "Qwen/Qwen3-235B-A22B-Instruct-2507"
    assert MATRIX.knowledge.recipe("nobody/nothing") is None


def test_code_of_the_model_is_never_run_unasked() -> None:
    for recipe in MATRIX.knowledge.recipes:
        assert all(one.key != "trust_remote_code" for one in recipe_arguments(MATRIX, MATRIX.releases[0], spec(recipe.id)))
    assert "remote-code-recipe" in notes("Qwen/Qwen3-235B-A22B-Instruct-2507", "0.33.0")
    assert "remote-code-asked" in notes("a/b", "0.33.0", {"trust_remote_code": True})
    assert "remote-code-own" in notes("a/b", "0.33.0", auto_map={"AutoConfig": "x.Y"})
    assert not any(key.startswith("remote-code") for key in notes("a/b", "0.33.0"))


def test_a_release_older_than_the_recipe_is_said_and_nothing_is_offered() -> None:
    told = notes("Qwen/Qwen3-235B-A22B-Instruct-2507", "0.9.2")
    assert "0.10.0" in told["recipe-newer"]
    assert "tools" not in told
    assert "--tool-call-parser hermes" in notes("Qwen/Qwen3-235B-A22B-Instruct-2507", "0.10.0")["tools"]


def test_what_the_user_gives_is_not_offered_again() -> None:
    assert "tools" not in notes("Qwen/Qwen3-235B-A22B-Instruct-2507", "0.33.0", {"tool_call_parser": "qwen3_xml"})


@pytest.mark.parametrize(
    ("architecture", "vllm", "wanted"),
    [
        ("Qwen3ForCausalLM", "0.8.3", ">=0.8.4"),
        ("Qwen3ForCausalLM", "0.8.4", None),
        ("AquilaForCausalLM", "0.33.0", ">=0.2.1,<=0.24.0"),
        ("MllamaForConditionalGeneration", "0.11.0", ">=0.6.2,<=0.10.2"),
        ("ZebraForCausalLM", "0.33.0", None),
    ],
)
def test_the_releases_that_know_a_model(architecture: str, vllm: str, wanted: str | None) -> None:
    assert releases_knowing(MATRIX, spec("a/b", architectures=[architecture]), vllm) == wanted


def test_the_last_release_of_an_architecture_is_named() -> None:
    assert "0.24.0" in notes("a/b", "0.24.0", architectures=["AquilaForCausalLM"])["last-for-model"]
    assert "last-for-model" not in notes("a/b", "0.24.0", architectures=["LlamaForCausalLM"])


@pytest.mark.parametrize(
    "hostile", [{"architectures": "x"}, {"architectures": [None, 3, "x" * 500]}, {"auto_map": [1]}, {"architectures": {}}]
)
def test_any_configuration_is_borne(hostile: dict[str, Any]) -> None:
    assert notes("a/b", "0.33.0", **hostile) == {}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_sentence_of_models_is_said_somewhere(lang: Lang) -> None:
    catalogue, seen = Catalogue(lang), set()
    for recipe in MATRIX.knowledge.recipes:
        for vllm in ("0.8.5", "0.20.2", "0.33.0"):
            release = MATRIX.release(vllm)
            assert release is not None
            for note in model_notes(MATRIX, release, spec(recipe.id), {}):
                assert "{" not in catalogue.say(note.key, **{**note.params, "arguments": "-"})
                seen.add(note.key)
    told = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    others = {"serve.note.remote-code-asked", "serve.note.remote-code-own", "serve.note.last-for-model"}
    ours = {
        key
        for key in told
        if key.startswith(
            ("serve.note.recipe", "serve.note.tools", "serve.note.rea", "serve.note.spec", "serve.note.remote", "serve.note.last")
        )
    }
    assert seen | others == ours


@pytest.mark.parametrize(
    ("vllm", "capability", "named", "not_named"),
    [
        ("0.33.0", (9, 0), "Qwen/Qwen3-235B-A22B-FP8", None),
        ("0.13.0", (7, 5), None, "Qwen/Qwen3-235B-A22B-FP8"),  # FP8 from 8.0 on, 7.5 from 0.14.0 on
        ("0.14.0", (7, 5), "Qwen/Qwen3-235B-A22B-FP8", None),
    ],
)
def test_checkpoints_in_fewer_bits_are_named_where_the_gpu_takes_them(
    vllm: str, capability: tuple[int, int], named: str | None, not_named: str | None
) -> None:
    release = MATRIX.release(vllm)
    assert release is not None
    found = variant_notes(MATRIX, release, spec("Qwen/Qwen3-235B-A22B-Instruct-2507"), (ComputeCapability(*capability),))
    text = " ".join(Catalogue("en").text(note) for note in found)
    assert named is None or named in text
    assert not_named is None or not_named not in text
    assert list(variant_notes(MATRIX, release, spec("a/b"), (ComputeCapability(*capability),))) == []
