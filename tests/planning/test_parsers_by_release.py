"""Parsers of tool calls and reasoning that are offered, against those that releases have.

`--reasoning-parser` lists its choices in 0.8.5, 0.9.2 and 0.10.2, as their own parsers print them; later releases do not list them.
When the others came was read in the sources: the folders `tool_parsers` and `reasoning` of releases before and after.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.planning.serving.models import feature_words

MATRIX = Matrix(Path(__file__).parents[2] / "matrices")
LISTED = {
    "0.8.5": {"deepseek_r1", "granite"},
    "0.9.2": {"deepseek_r1", "granite", "qwen3"},
    "0.10.2": {"deepseek_r1", "glm45", "openai_gptoss", "granite", "hunyuan_a13b", "mistral", "qwen3", "step3"},
}
# Name → (a release that lacks it, the first release read that has it), by family.
CAME = {
    "qwen3": ("0.8.5", "0.9.0"),
    "qwen3_coder": ("0.9.2", "0.10.0"),
    "deepseek_v3": ("0.8.5", "0.9.0"),
    "deepseek_v31": ("0.10.1.1", "0.10.2"),
    "deepseek_v32": ("0.12.0", "0.13.0"),
    "glm45": ("0.10.0", "0.10.1.1"),
    "glm47": ("0.13.0", "0.14.0"),
    "openai": ("0.10.1.1", "0.10.2"),
    "ling3": ("0.27.1", "0.28.0"),
    "step5": ("0.32.0", "0.33.0"),
    "k2_horizon": ("0.28.0", "0.30.0"),
}


def offered(vllm: str, words: list[str], first: str | None) -> bool:
    """Whether a feature of a recipe is offered for a release, as the notes of a plan do."""
    release = MATRIX.release(vllm)
    assert release is not None
    return (first is None or release.version >= Version(first)) and bool(feature_words(MATRIX, release, words))


@pytest.mark.parametrize("vllm", LISTED)
def test_no_reasoning_parser_is_offered_that_the_release_does_not_list(vllm: str) -> None:
    for recipe in MATRIX.knowledge.recipes:
        if recipe.reasoning and offered(vllm, recipe.reasoning, recipe.first):
            name = recipe.reasoning[recipe.reasoning.index("--reasoning-parser") + 1]
            assert name in LISTED[vllm], (recipe.id, vllm)


@pytest.mark.parametrize("name", CAME)
def test_no_parser_is_offered_before_it_came(name: str) -> None:
    before, since = CAME[name]
    using = [(words, recipe.first) for recipe in MATRIX.knowledge.recipes for words in (recipe.tools, recipe.reasoning) if name in words]
    assert using, name
    assert not any(offered(before, words, first) for words, first in using)
    newest = MATRIX.releases[0].raw
    assert any(offered(newest, words, first) for words, first in using), since
