"""What more releases said of planned commands, kept from a run: enough of it, without a fault, and the matrix agrees with it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from envcheck.cli.cards import host_of_cards
from envcheck.cli.memory import sizer_of
from envcheck.matrix.load import load
from envcheck.planning.effective import effective
from tests.real.commands import host

RECORDED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


def _wishes(start: str) -> list[tuple[str, dict[str, Any]]]:
    return [(release, wish) for release, told in RECORDED.items() for wish in told["wishes"] if wish["result"].startswith(start)]


def _known(release: str, word: str) -> bool:
    """Whether the matrix has an argument, or what it switches off, in a release."""
    names = load().flags.names(Version(release))
    return word in names or (word.startswith("--no-") and "--" + word[5:] in names)


def test_enough_was_asked() -> None:
    took = _wishes("configured") + _wishes("parsed")
    assert len(took) >= 60
    assert len({release for release, _ in took}) >= 8
    assert min(RECORDED, key=Version) == "0.8.5"
    assert max(RECORDED, key=Version) == "0.33.0"


@pytest.mark.parametrize("release", RECORDED)
def test_nothing_was_wrong(release: str) -> None:
    told = RECORDED[release]
    assert told["flags"] == []
    assert [wish["faults"] for wish in told["wishes"] if "faults" in wish] == []


def test_what_parsers_took_is_in_the_matrix() -> None:
    words = {(release, word) for release, wish in _wishes("configured") for word in shlex.split(wish["command"]) if word.startswith("--")}
    assert len(words) >= 60
    assert [pair for pair in sorted(words) if not _known(*pair)] == []


def test_what_parsers_did_not_know_is_not_in_the_matrix() -> None:
    written = [(release, wish.get("written", "")) for release, told in RECORDED.items() for wish in told["wishes"]]
    said = [(release, re.search(r"unrecognized arguments: (--[\w-]+)", words)) for release, words in written]
    words = {(release, found[1]) for release, found in said if found}
    assert len(words) >= 8
    assert [pair for pair in sorted(words) if _known(*pair)] == []


@pytest.mark.parametrize("release", RECORDED)
def test_the_defaults_are_those_that_the_release_chose(release: str) -> None:
    matrix = load()
    known = matrix.release(release)
    assert known is not None
    assert len(RECORDED[release]["defaults"]) >= 6
    for name, real in RECORDED[release]["defaults"].items():
        card = sizer_of(matrix).card(host_of_cards(host(name)["gpus"][0]["name"], matrix))
        ours = {default.setting: default.value for default in effective(matrix, known, card, "api-server").defaults}
        assert (name, {setting: ours.get(setting) for setting in real}) == (name, real)
