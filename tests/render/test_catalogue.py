"""The catalogue: hostile parameters, missing ones, both languages complete and of one form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envcheck.render.catalogue as module
from envcheck.matrix.load import load
from envcheck.model.text import Text
from envcheck.render.catalogue import LANGUAGES, Catalogue, choose_language, clean, shown

TEXTS = Path(module.__file__).parent / "texts"
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def sentences(lang: str) -> dict[str, str]:
    return json.loads((TEXTS / f"{lang}.json").read_text(encoding="utf-8"))


def test_attribute_access_in_a_parameter_is_shown_and_not_evaluated() -> None:
    text = Catalogue("en").text(Text("validate.fine", {"directory": "{0.__class__} {directory.__init__} %s"}))
    assert "{0.__class__} {directory.__init__} %s" in text


def test_a_parameter_cannot_smuggle_in_another_placeholder() -> None:
    text = Catalogue("en").say("clash.two-values", needed="{present}", present="580")
    assert "needed: {present}" in text


def test_a_missing_parameter_stays_visible() -> None:
    assert "{present}" in Catalogue("en").say("clash.two-values", needed="580")


def test_an_unknown_key_shows_key_and_parameters() -> None:
    assert Catalogue("zh").text(Text("no.such.key", {"a": 1, "b": ("x", "y")})) == "no.such.key (a=1, b=x、y)"


def test_a_sentence_missing_in_chinese_is_the_english_one(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = Catalogue("zh")
    monkeypatch.setattr(catalogue, "_own", {})
    assert catalogue.say("probe.yes") == "yes"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "?"), (7, "7"), (57344.0, "57344"), (0.5, "0.5"), (1.239, "1.24"), (True, "true"), (("a", "b"), "a, b"), (10**30, str(10**30))],
)
def test_parameters_read_as_people_write_them(value: object, text: str) -> None:
    assert shown(value) == text  # type: ignore[arg-type]


def test_a_number_format_on_a_word_does_no_harm() -> None:
    assert "many requests" in Catalogue("en").say("size.concurrency", requests="many")


def test_escape_sequences_and_direction_marks_do_not_reach_the_terminal() -> None:
    hostile = "A10\x1b[2J\x1b]0;x\x07\u202e\u200b\ud800\nfoo"
    assert clean(hostile) == "A10?[2J?]0;x???? foo"


@given(
    st.text(max_size=200), st.dictionaries(st.text(max_size=10), st.one_of(st.none(), st.text(), st.floats(), st.integers()), max_size=4)
)
def test_rendering_never_raises_and_is_printable(key: str, params: dict[str, str | int | float | None]) -> None:
    for lang in LANGUAGES:
        for name in (key, "findings.evidence", "size.cache"):
            text = Catalogue(lang).text(Text(name, {**params, "evidence": key, "tokens": key}))
            assert text.isprintable() or not text


def test_a_long_parameter_is_cut() -> None:
    assert len(shown("x" * 100_000)) < 1000


@pytest.mark.parametrize(
    ("option", "env", "lang"),
    [
        (None, {}, "en"),
        (None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        (None, {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        (None, {"LC_MESSAGES": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        (None, {"ENVCHECK_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"),
        (None, {"ENVCHECK_LANG": "zh-CN"}, "zh"),
        (None, {"ENVCHECK_LANG": "klingon", "LANG": "zh_CN"}, "zh"),
        ("zh", {"ENVCHECK_LANG": "en"}, "zh"),
    ],
)
def test_language_by_option_then_variable_then_locale(option: str | None, env: dict[str, str], lang: str) -> None:
    assert choose_language(option, env) == lang


def test_both_languages_have_the_same_keys_and_placeholders() -> None:
    english, chinese = sentences("en"), sentences("zh")
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert set(PLACEHOLDER.findall(text)) == set(PLACEHOLDER.findall(chinese[key])), key


def test_placeholders_are_plain_names_with_at_most_a_number_format() -> None:
    for lang in LANGUAGES:
        for key, text in sentences(lang).items():
            for inner in PLACEHOLDER.findall(text):
                assert re.fullmatch(r"[a-z_][a-z0-9_]*(:\.\d[fg])?", inner), (key, inner)


def test_files_are_sorted_and_canonical() -> None:
    for path in (*TEXTS.glob("*.json"), *TEXTS.glob("explain/*.json")):
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2, sort_keys=True) + "\n", path.name


def test_every_code_of_the_vocabulary_has_titles() -> None:
    codes = set(load().codes)
    for lang in LANGUAGES:
        assert {key.removeprefix("title.") for key in sentences(lang) if key.startswith("title.")} == codes


def test_titles_are_short_and_one_of_a_kind() -> None:
    for lang in LANGUAGES:
        titles = [text for key, text in sentences(lang).items() if key.startswith("title.")]
        assert len(set(titles)) == len(titles)
        assert max(len(title) for title in titles) <= 64


def test_chinese_is_chinese() -> None:
    wide = re.compile(r"[\u4e00-\u9fff]")
    for key, text in sentences("zh").items():
        bare = PLACEHOLDER.sub("", re.sub(r"`[^`]*`", "", text))
        names = re.sub(r"vLLM|torch|CUDA|Python", "", bare)
        assert wide.search(bare) or not re.search(r"[A-Za-z]{4,}", names), key


def test_backticks_are_closed() -> None:
    for lang in LANGUAGES:
        for key, text in sentences(lang).items():
            assert text.count("`") % 2 == 0, (lang, key)
