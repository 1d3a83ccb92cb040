"""The command lines answered without a parser mean what the parser says they mean."""

from __future__ import annotations

from itertools import product

import click
import pytest

from envcheck.cli.asked import Common
from envcheck.cli.plain import plain_check
from envcheck.cli.wishes import Wishes

SWITCHES = ("--json", "-v", "--verbose", "-q", "--quiet", "--offline")
LINES = [[*head, *words] for head in ([], ["check"]) for count in (0, 1, 2, 3) for words in product(SWITCHES, repeat=count)]


def parsed(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Common:
    """What click makes of a command line."""
    from envcheck.cli import checking
    from envcheck.cli.group import cli

    seen: list[Common] = []

    def note(asked: Common, vllm: str | None, model: str | None, wished: Wishes) -> int:
        seen.append(asked)
        assert wished == Wishes()
        assert vllm is None
        assert model is None
        return 0

    monkeypatch.setattr(checking, "check", note)
    cli.main(args=words, prog_name="envcheck", standalone_mode=False)
    return seen[0]


@pytest.mark.parametrize("locale", ["C.UTF-8", "zh_CN.UTF-8"])
def test_both_ways_ask_the_same(monkeypatch: pytest.MonkeyPatch, locale: str) -> None:
    monkeypatch.setenv("LANG", locale)
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("ENVCHECK_LANG", raising=False)
    for words in LINES:
        assert plain_check(words) == parsed(words, monkeypatch), words


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["-h"],
        ["--version"],
        ["--vllm", "0.19.1"],
        ["-vq"],
        ["check", "check"],
        ["plan"],
        ["--json", "check"],
        ["--format", "json"],
        ["--lang", "zh"],
        [""],
        ["--"],
        ["-"],
    ],
)
def test_everything_else_is_parsed(words: list[str]) -> None:
    assert plain_check(words) is None


def test_the_switches_are_options_of_the_command() -> None:
    from envcheck.cli.commands.check import command

    flags = {name for parameter in command.params if isinstance(parameter, click.Option) and parameter.is_flag for name in parameter.opts}
    assert set(SWITCHES) <= flags
