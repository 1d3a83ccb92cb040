"""Widths, wrapping and quoting."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.render.commands import broken, line, quote
from envcheck.render.layout import cells, pad, wrap, wrap_parts

WORDS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" `，。中文ab-\\")), max_size=300)


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("中文", 4), ("a中", 3), ("e\u0301", 1), ("，", 2), ("½", 1), ("", 0)])
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


def test_pad_counts_cells() -> None:
    assert pad("中", 4) == "中  "


@given(WORDS, st.integers(12, 100))
def test_no_line_is_wider_than_asked_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrap(text, width, indent="  ", first="- ")
    assert all(cells(line) <= max(width, 10) + 1 for line in lines)  # +1: a wide character may straddle the edge of a hard break
    assert "".join("".join(lines)[2:].split(" ")).replace("-", "") == "".join(text.split(" ")).replace("-", "")


def test_a_quoted_command_is_not_broken_where_it_fits_a_line() -> None:
    lines = wrap("Type the following words now: `envcheck plan --model NAME -o DIR` and wait", 50)
    assert any("`envcheck plan --model NAME -o DIR`" in line for line in lines)


def test_chinese_wraps_between_characters_but_not_before_a_full_stop() -> None:
    lines = wrap("一二三四五六七八九十。", 20)
    assert lines == ["一二三四五六七八九", "十。"]


def test_parts_stay_whole_where_they_fit() -> None:
    assert wrap_parts("driver 535 (CUDA 12.2) · Ubuntu 22.04", " · ", 30) == ["driver 535 (CUDA 12.2) ·", "Ubuntu 22.04"]


@pytest.mark.parametrize("word", ["", "a b", "it's", "$(x)", "`x`", "-x", "a\nb", "\x1b[2J", "中文", "\u202e", "\\'\n", "a\udcffb"])
def test_a_quoted_word_is_one_printable_line(word: str) -> None:
    assert quote(word).isprintable()


@given(st.text(max_size=60))
def test_quoting_agrees_with_shlex_where_characters_are_printable(word: str) -> None:
    if word.isprintable():
        assert quote(word).startswith("$'") or shlex.split(quote(word)) == [word]
    assert "\n" not in quote(word)


@pytest.mark.usefixtures("processes")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=40), min_size=1, max_size=8))
def test_bash_reads_back_what_was_quoted(words: list[str]) -> None:
    script = "printf '%s\\0' " + line(words)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == words


def test_options_stay_with_their_values_when_a_command_is_broken() -> None:
    lines = broken(
        ["uv", "pip", "install", "--index-url", "https://mirror.example.com/pypi/simple", "--python", "env/bin/python", "vllm==1"], 60
    )
    assert lines == [
        "uv pip install \\",
        "    --index-url https://mirror.example.com/pypi/simple \\",
        "    --python env/bin/python vllm==1",
    ]


@pytest.mark.usefixtures("processes")
def test_a_broken_command_is_still_the_same_command() -> None:
    argv = ["printf", "%s\\n", *(f"--option-{number} value-{number}" for number in range(12))]
    done = subprocess.run(["bash", "-c", "\n".join(broken(argv, 50))], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == argv[2:]
