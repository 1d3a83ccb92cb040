"""The token budget of requests. What the server answers was read in the releases named beside each figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.matrix.load import Matrix
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.plan import Plan, TokenBudget, Tokens
from envcheck.planning.serving.tokens import context_of, token_budget
from envcheck.render.catalogue import Catalogue, Lang

TOP = Path(__file__).parents[2]
MATRIX = Matrix(TOP / "matrices")
BARE = Plan("-", None, (), (), {}, (), (), None, None, (), "-")


def budget(vllm: str, context: int, prompt: int | None = None, output: int | None = None) -> TokenBudget:
    release = MATRIX.release(vllm)
    assert release is not None
    return token_budget(MATRIX, release, context, Tokens(prompt, output))


def told(found: TokenBudget) -> list[str]:
    return [note.key.removeprefix("tokens.") for note in found.notes]


@pytest.mark.parametrize(
    ("prompt", "output", "max_tokens", "longest", "first"),
    [
        (3000, 1000, 1000, 3096, "fits"),
        (3096, 1000, 1000, 3096, "fits"),
        (3097, 1000, 999, 3096, "shortened"),
        (4096, 1000, 0, 3096, "prompt-too-long"),
        (9000, 1000, 0, 3096, "prompt-too-long"),
        (3000, None, 1096, 4095, "prompt-alone"),
        (None, 1000, 1000, 3096, "output-alone"),
        (None, 5000, 5000, 0, "output-too-long"),
    ],
)
def test_what_fits_into_a_context_of_4096(prompt: int | None, output: int | None, max_tokens: int, longest: int, first: str) -> None:
    found = budget("0.10.2", 4096, prompt, output)
    assert (found.max_tokens, found.longest_prompt, told(found)[0]) == (max_tokens, longest, first)


@pytest.mark.parametrize(
    ("vllm", "answer"),
    [
        ("0.2.7", "refused"),
        ("0.8.5", "refused"),
        ("0.12.0", "refused"),
        ("0.31.0", "refused"),
        ("0.32.0", "lowered"),
        ("0.33.0", "lowered"),
    ],
)
def test_the_answer_to_a_request_that_is_too_long_is_the_releases_own(vllm: str, answer: str) -> None:
    assert answer in told(budget(vllm, 4096, 4000, 1000))


@pytest.mark.parametrize(
    ("vllm", "ways"),
    [
        ("0.4.0", ["no-truncation", "parts"]),
        ("0.5.3.post1", ["truncation", "parts"]),
        ("0.19.1", ["truncation", "parts"]),
        ("0.33.0", ["truncation", "truncation-side", "parts"]),
    ],
)
def test_a_longer_input_is_shortened_or_sent_in_parts(vllm: str, ways: list[str]) -> None:
    assert told(budget(vllm, 4096, 9000, 1000))[-len(ways) :] == ways
    assert not set(ways) & set(told(budget(vllm, 4096, 3000, 1000)))


def test_parts_hold_the_whole_input() -> None:
    (parts,) = [note for note in budget("0.33.0", 4096, 9000, 1000).notes if note.key == "tokens.parts"]
    assert parts.params["parts"] == 3  # 3 x 3,096 = 9,288


@given(st.integers(1, 10**7), st.integers(1, 10**9) | st.none(), st.integers(1, 10**9) | st.none())
def test_what_is_sent_never_exceeds_the_context(context: int, prompt: int | None, output: int | None) -> None:
    found = budget("0.33.0", context, prompt, output)
    assert 0 <= found.longest_prompt < context
    if prompt is not None:
        assert found.max_tokens <= max(0, context - prompt)
    if output is not None:
        assert found.max_tokens <= output


def test_the_context_is_the_planned_one_before_the_models_own() -> None:
    spec = ModelSpec("a/b", {"max_position_embeddings": 8192}, ModelSource("catalogue", "-"))
    assert context_of(BARE, spec, None) == 8192
    assert context_of(BARE, spec, 2048) == 2048
    assert context_of(BARE, spec, "2k") == 2000
    assert context_of(BARE, spec, "auto") == 8192


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_sentence_is_said_somewhere(lang: Lang) -> None:
    catalogue, seen = Catalogue(lang), set()
    for vllm in ("0.4.0", "0.10.2", "0.33.0"):
        for prompt, output in ((3000, 1000), (3900, 1000), (9000, 1000), (3000, None), (None, 1000), (None, 9000), (1, 9000)):
            for note in budget(vllm, 4096, prompt, output).notes:
                assert "{" not in catalogue.text(note)
                seen.add(note.key)
    sentences = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    assert {key for key in sentences if key.startswith("tokens.")} == seen
