"""The explain pages: complete, the same in both languages, in agreement with the rules, their cases and the facts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.versions import driver_version
from envcheck.render.catalogue import LANGUAGES, Catalogue, ExplainPage
from envcheck.render.explain_page import OF_REQUEST, explain_out, find_codes, in_order, softened
from envcheck.render.explain_text import codes_text, explain_text
from envcheck.render.layout import cells
from envcheck.render.themes import THEMES
from envcheck.rules.memory import CODES
from envcheck.rules.registry import reads_of, rules

TOP = Path(__file__).parents[2]
CASES = TOP / "tests" / "rules" / "cases"
WIDE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")  # Chinese characters and Chinese punctuation
QUOTED = re.compile(r"`[^`]*`")


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(TOP / "matrices")


def page_of(lang: str, code: str) -> ExplainPage:
    page = Catalogue(lang).page(code)  # type: ignore[arg-type]
    assert page is not None, code
    return page


def texts(page: ExplainPage) -> Iterator[str]:
    yield from (page.what, page.why, page.check, *page.fix, *page.avoid, *page.severity.values())


def every_text() -> Iterator[tuple[str, str, str]]:
    for lang in LANGUAGES:
        for code in in_order():
            yield from ((lang, code, text) for text in texts(page_of(lang, code)))


def test_the_pages_are_those_of_the_vocabulary_in_every_language(matrix: Matrix) -> None:
    for lang in LANGUAGES:
        path = TOP / "envcheck" / "render" / "texts" / "explain" / f"{lang}.json"
        assert json.loads(path.read_text(encoding="utf-8")).keys() == set(matrix.codes)


def test_every_part_of_every_page_is_there() -> None:
    for lang, code, text in every_text():
        assert text.strip() == text, (lang, code)
        assert text, (lang, code)
    for code in in_order():
        english, chinese = page_of("en", code), page_of("zh", code)
        assert english.avoid, code
        assert english.severity.keys() == chinese.severity.keys() != set(), code
        assert (len(english.fix), len(english.avoid)) == (len(chinese.fix), len(chinese.avoid)), code


def test_chinese_is_chinese_and_english_is_not() -> None:
    for lang, code, text in every_text():
        bare = QUOTED.sub("", text).strip(" .,;。")
        assert bool(WIDE.search(bare)) is (lang == "zh") or not bare, (lang, code, text)


def test_both_languages_name_the_same_commands() -> None:
    # A word that stands for something, MODEL or 模型, is written in the reader's language.
    def commands(lang: str, code: str) -> list[str]:
        page = page_of(lang, code)
        spans = [span for text in (page.check, *page.fix) for span in QUOTED.findall(text)]
        return sorted({span.split()[0].strip("`") for span in spans if " " in span})

    for code in in_order():
        assert commands("en", code) == commands("zh", code), code


def test_backticks_are_closed() -> None:
    for lang, code, text in every_text():
        assert text.count("`") % 2 == 0 or "`GLIBC" in text, (lang, code, text)


def test_every_code_stands_in_one_theme(matrix: Matrix) -> None:
    assert sorted(in_order()) == sorted(matrix.codes)
    for lang in LANGUAGES:
        catalogue = Catalogue(lang)
        assert all(catalogue.say(f"theme.{theme}") != f"theme.{theme}" for theme, _ in THEMES)


def rule_cases() -> list[dict[str, Any]]:
    files = sorted(path for path in CASES.glob("*.json") if path.name != "bases.json")
    return [case for path in files for case in json.loads(path.read_text(encoding="utf-8"))]


def test_a_page_tells_of_every_severity_that_a_host_was_shown_to_have(matrix: Matrix) -> None:
    settled = {code for codes in matrix.observations.values() for code in codes}
    for case in rule_cases():
        code = case["code"].split(".")[0]
        told = set(page_of("en", code).severity)
        if softened(code):
            told.add("warning")
        if code in settled:
            told.add("info")
        assert case["severity"] in told, (case["code"], case["severity"])


def test_a_page_tells_of_no_severity_that_no_host_was_shown_to_have() -> None:
    shown = {(case["code"].split(".")[0], case["severity"]) for case in rule_cases()}
    shown |= {(code, "error") for code in CODES.values()}
    for code in in_order():
        if reads_of(code):
            assert {(code, kind) for kind in page_of("en", code).severity} <= shown, code


def test_what_rules_emit_is_told_as_found_from_facts(matrix: Matrix) -> None:
    emitted = {code for rule in rules() for code in rule.codes}
    for code in in_order():
        page = explain_out(code, Catalogue("en"), matrix)
        assert page is not None
        assert ("facts" in page.detected_by) is (code in emitted or bool(reads_of(code))), code
        assert ("memory-budget" in page.detected_by) is (code in CODES.values()), code
        assert page.detected_by, code


def test_what_is_told_as_found_from_the_request_was_shown_to_be() -> None:
    asked = {"serve_args", "model", "model_config", "weights_gib"}
    shown = set()
    for case in rule_cases():
        laid = {path.split(".")[1] for path in (*case["set"], *case["twin"]) if path.startswith("request.")}
        if asked & (laid | case.get("request", {}).keys()):
            shown.add(case["code"].split(".")[0])
    assert shown >= OF_REQUEST


def test_causes_are_told_both_ways(matrix: Matrix) -> None:
    pages = {code: explain_out(code, Catalogue("en"), matrix) for code in in_order()}
    told = {(code, other) for code, page in pages.items() if page for other in page.explains}
    assert told == {(code, other) for code, others in matrix.causes.items() for other in others}
    assert told == {(other, code) for code, page in pages.items() if page for other in page.explained_by}


def test_every_code_has_a_source_that_can_be_looked_up(matrix: Matrix) -> None:
    # an address, or a named artefact with its release: `vllm 0.33.0 source distribution: …`
    artefact = re.compile(r"https://\S+\.\S+|\b\d+\.\d+|\d{4}-\d{2}-\d{2}")
    for code, record in matrix.codes.items():
        assert any(artefact.search(source) for source in record.sources) or code == "matrix-stale", code


def test_releases_that_pages_name_exist(matrix: Matrix) -> None:
    known = {release.raw for release in matrix.releases}
    for lang, code, text in every_text():
        named = re.findall(r"(?<![\d.])0\.\d+\.\d+(?:\.post\d+)?(?![\d.]*\d)", QUOTED.sub("", text).replace("127.0.0.1", ""))
        assert set(named) <= known | {"0.0.0"}, (lang, code, named)


def test_driver_floors_that_pages_name_are_the_facts(matrix: Matrix) -> None:
    floors = {str(record.major): record.min_driver for record in matrix.cuda.majors}
    for lang in LANGUAGES:
        text = page_of(lang, "driver-too-old-for-cuda").what
        told = re.findall(r"(\d+(?:\.\d+)*) for CUDA (\d+)|CUDA (\d+) 需要 (\d+(?:\.\d+)*)", text)
        stated = {a[1] or a[2]: a[0] or a[3] for a in told}
        assert stated.keys() >= {"12", "13"}
        for major, floor in stated.items():
            assert driver_version(floor) == driver_version(floors[major]), (lang, major)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_page_and_no_list_is_wider_than_80_cells(lang: str, matrix: Matrix) -> None:
    catalogue = Catalogue(lang)  # type: ignore[arg-type]
    for code in in_order():
        page = explain_out(code, catalogue, matrix)
        assert page is not None
        wide = [line for line in explain_text(page, catalogue).splitlines() if cells(line) > 80 and "://" not in line]
        assert not wide, code
    assert max(map(cells, codes_text(catalogue).splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "code"), [("shm", "shm-too-small"), ("too old glibc", "glibc-too-old"), ("bfloat16", "bf16-unsupported-gpu")]
)
def test_words_find_the_one_code_that_has_them(words: str, code: str) -> None:
    assert find_codes(words, Catalogue("en")) == (code,)


@pytest.mark.parametrize("words", ["", "-", " - ", "\x00\x1b[2J", "zzzz"])
def test_what_no_page_says_finds_nothing(words: str) -> None:
    assert find_codes(words, Catalogue("en")) == ()


def test_chinese_words_find_codes_whatever_the_language() -> None:
    assert find_codes("端口", Catalogue("en")) == ("port-in-use",)


def test_the_code_s_own_words_come_before_those_of_pages() -> None:
    # many pages speak of drivers; only those whose code does are meant
    found = find_codes("driver", Catalogue("en"))
    assert "driver-not-loaded" in found
    assert all("driver" in code.split("-") for code in found)


def test_what_pages_say_of_xids_is_what_the_facts_say(matrix: Matrix) -> None:
    told = next(text for text in page_of("en", "gpu-fault").avoid if "Xid" in text)
    assert {str(matrix.xids[int(number)]) for number in re.findall(r"\b\d+\b", told)} == {"application"}
    assert "Xid 79" in page_of("en", "gpu-fault").why
    assert str(matrix.xids[79]) == "lost"
