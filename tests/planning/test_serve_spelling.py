"""Values in a release's own letters, and switches that no release has. Expectations: the parsers' choices as they were collected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.text import Text
from envcheck.planning.serving.spelling import Spelt, Wanted, spell
from envcheck.render.catalogue import Catalogue, Lang

TOP = Path(__file__).parents[2]
MATRIX = Matrix(TOP / "matrices")


def spelt(vllm: str, **asked: Any) -> Spelt:
    release = MATRIX.release(vllm)
    assert release is not None
    return spell(MATRIX.flags, release.version, vllm, [Wanted(key, value, Text("why")) for key, value in asked.items()])


def words(found: Spelt) -> list[str]:
    return [word for setting in found.settings for word in setting.words]


@pytest.mark.parametrize("vllm", ["0.31.0", "0.33.0"])
def test_a_log_level_is_written_in_upper_case_and_that_is_said(vllm: str) -> None:
    found = spelt(vllm, log_level="debug")
    assert words(found) == ["--log-level", "DEBUG"]
    assert [note.key for note in found.notes] == ["serve.note.argument-case"]
    assert found.notes[0].params["instead"] == "DEBUG"


def test_before_it_is_a_variable() -> None:
    found = spelt("0.30.0", log_level="debug")
    assert [(one.flag, one.value) for one in found.environment] == [("VLLM_LOGGING_LEVEL", "DEBUG")]


def test_letters_that_the_release_takes_stay() -> None:
    found = spelt("0.33.0", log_level="DEBUG", dtype="half")
    assert words(found) == ["--log-level", "DEBUG", "--dtype", "half"]
    assert found.notes == ()


def test_a_value_of_other_letters_is_no_such_value() -> None:
    assert [note.key for note in spelt("0.33.0", log_level="verbose").notes] == ["serve.note.argument-value"]


@pytest.mark.parametrize("vllm", ["0.8.5", "0.33.0"])
def test_a_switch_that_never_existed_is_said_also_where_it_is_off(vllm: str) -> None:
    found = spelt(vllm, frobnicate=False)
    assert words(found) == []
    assert [(note.key, note.params["flag"]) for note in found.notes] == [("serve.note.argument-dropped", "--frobnicate")]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_note_is_a_sentence(lang: Lang) -> None:
    sentence = Catalogue(lang).text(spelt("0.33.0", log_level="debug").notes[0])
    assert "DEBUG" in sentence
    assert "{" not in sentence
    assert json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))["serve.note.argument-case"]
