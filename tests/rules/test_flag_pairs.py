"""The other halves of switches: `--no-x`, and `--disable-x` beside `--enable-x`. The samples are of the listings of the real parsers."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from envcheck.cli.serve_args import parse_serve_args
from envcheck.matrix.load import load
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.planning.about import about
from envcheck.planning.upgrade import said_otherwise, upgrade
from envcheck.rules.check import judge
from envcheck.sizing.inputs import Card

MATRIX = load()
LISTED = [  # release, option
    ("0.33.0", "--disable-prefix-caching"),
    ("0.33.0", "--disable-chunked-prefill"),
    ("0.33.0", "--disable-lora"),
    ("0.33.0", "--disable-log-requests"),
    ("0.33.0", "--enable-custom-all-reduce"),
    ("0.33.0", "--no-async-scheduling"),
    ("0.33.0", "--no-enforce-eager"),
    ("0.33.0", "--no-enable-prefix-caching"),  # taken, though not listed any more
    ("0.32.0", "--no-enable-prefix-caching"),
    ("0.6.6.post1", "--no-enable-prefix-caching"),
    ("0.10.2", "--no-async-scheduling"),
    ("0.9.2", "--disable-log-requests"),
    ("0.8.5", "--no-enable-chunked-prefill"),
]
REFUSED = [("0.32.0", "--disable-prefix-caching"), ("0.9.2", "--no-async-scheduling"), ("0.19.1", "--disable-lora")]


def _codes(vllm: str, arguments: dict[str, Any]) -> list[str]:
    found = judge(HostReport(), MATRIX, Request(vllm=vllm, serve_args=arguments), remedies=False).findings
    return [one.code for one in found if one.code.startswith("flag-")]


def _document(option: str) -> dict[str, Any]:
    return {option[2:].replace("-", "_"): True}


@pytest.mark.parametrize(("vllm", "option"), LISTED)
def test_a_right_word_is_not_refused(vllm: str, option: str) -> None:
    assert _codes(vllm, parse_serve_args([option], (), lambda: MATRIX.flags)) == []
    assert _codes(vllm, _document(option)) == []


@pytest.mark.parametrize(("vllm", "option"), REFUSED)
def test_a_word_of_other_releases_is_refused_in_a_document(vllm: str, option: str) -> None:
    assert _codes(vllm, _document(option)) == ["flag-not-in-release"]


def test_a_word_that_no_release_has_switches_nothing_off() -> None:
    assert MATRIX.flags.negated("--disable-nonsense") is None
    assert MATRIX.flags.negated("--no-max-model-len") is None
    assert parse_serve_args(["--disable-nonsense"], (), lambda: MATRIX.flags) == {"disable_nonsense": True}


def test_both_words_are_one_argument_that_is_off() -> None:
    for word in ("--disable-prefix-caching", "--no-enable-prefix-caching", "--disable_prefix_caching"):
        assert parse_serve_args([word], (), lambda: MATRIX.flags) == {"enable_prefix_caching": False}


@pytest.mark.parametrize(
    ("old", "new", "typed", "written"),
    [
        ("0.33.0", "0.19.1", "--disable-prefix-caching", "--no-enable-prefix-caching"),
        ("0.33.0", "0.8.5", "--disable-chunked-prefill", "--no-enable-chunked-prefill"),
    ],
)
def test_an_upgrade_takes_the_word_of_its_target_and_says_so(old: str, new: str, typed: str, written: str) -> None:
    given = parse_serve_args([typed], (), lambda: MATRIX.flags)
    before, after = MATRIX.release(old), MATRIX.release(new)
    assert before is not None
    assert after is not None
    found = said_otherwise(MATRIX, after, upgrade(MATRIX, before, after, Card(name="GPU"), given), [typed])
    assert found.command == (written,)
    assert [(note.params["flag"], note.params["instead"]) for note in found.notes] == [(typed, written)]


def test_explain_tells_the_releases_of_each_word() -> None:
    spans = {
        "--no-enable-prefix-caching": ("0.6.6.post1", "0.33.0"),
        "--disable-prefix-caching": ("0.33.0", "0.33.0"),
        "--no-async-scheduling": ("0.10.2", "0.33.0"),
    }
    for word, (first, last) in spans.items():
        found = about(MATRIX, word)
        assert found is not None
        assert (found.releases[0].first, found.releases[-1].last) == (first, last)
        assert found.switches_off
    old = about(MATRIX, "--disable-prefix-caching")
    assert old is not None
    assert [one.instead for one in old.successors] == ["--no-enable-prefix-caching"]


def test_values_that_the_newest_parser_does_not_list_are_those_of_its_type() -> None:
    assert _codes("0.33.0", {"kv_cache_dtype": "fp8"}) == []
    assert _codes("0.33.0", {"kv_cache_dtype": "octave_k3v4"}) == []
    assert _codes("0.33.0", {"kv_cache_dtype": "int8"}) == ["flag-value-invalid"]
    flag = MATRIX.flags.flag("--kv-cache-dtype")
    assert flag is not None
    form = MATRIX.flags.form(flag, Version("0.32.0"))
    assert form is not None
    assert "octave_k3v4" not in (form.choices or [])


def test_where_a_parser_lists_no_values_that_is_said() -> None:
    found = about(MATRIX, "--distributed-executor-backend", "uni")
    assert found is not None
    assert found.value_in
    assert [(span.first, span.last) for span in found.value_open] == [("0.10.2", "0.33.0")]


def test_both_ways_to_limit_media_are_told() -> None:
    """Pairs up to 0.9.2, objects from 0.8.5 on: run through the parsers of twenty releases."""
    found = about(MATRIX, "--limit-mm-per-prompt")
    assert found is not None
    told = {one.example[0]: (one.releases[0].first, one.releases[-1].last) for one in found.syntaxes}
    assert told == {"i": ("0.5.5", "0.9.2"), "{": ("0.8.5", "0.33.0")}
