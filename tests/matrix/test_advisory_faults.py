"""Faults of advisories and bulletins, planted in a copy of the shipped facts; ranges of versions by their bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from envcheck.matrix.advisories import span
from envcheck.matrix.validate import validate

Spoil = Callable[[str, Callable[[Any], None]], Path]
FILE = "advisories.json"


def set_in(path: list[Any], value: Any) -> Callable[[Any], None]:
    def edit(root: Any) -> None:
        for step in path[:-1]:
            root = root[step]
        root[path[-1]] = value

    return edit


@pytest.mark.parametrize(
    ("file", "edit", "place", "what"),
    [
        (FILE, set_in(["advisories", 0, "affected"], "before 3.0"), "$.advisories[0].affected", "no range"),
        (FILE, set_in(["advisories", 0, "affected"], "!=3.0"), "$.advisories[0].affected", "no range"),
        (FILE, set_in(["advisories", 0, "affected"], "<99"), "$.advisories[0].fixed", "affected itself"),
        (FILE, set_in(["advisories", 0, "fixed"], "soon"), "$.advisories[0].fixed", "no version"),
        (FILE, set_in(["advisories", 0, "package"], "AioHTTP"), "$.advisories[0].package", "normalises"),
        (FILE, set_in(["advisories", 0, "published"], "October"), "$.advisories[0].published", "no ISO date"),
        (FILE, set_in(["advisories", 0, "models"], ["qwen2_vl"]), "$.advisories[0].models", "qwen2_vl"),
        (FILE, set_in(["advisories", 0, "cvss"], 11.0), "$.advisories[0].cvss", "0 to 10"),
        (FILE, set_in(["advisories", 0, "sources"], []), "$.advisories[0]", "no source"),
        (FILE, set_in(["advisories", 0, "severity"], "grave"), "$.advisories[0].severity", "grave"),
        (FILE, set_in(["cutoffs", 0, "date"], "2026"), "$.cutoffs[0].date", "no ISO date"),
        (FILE, set_in(["cutoffs", 0, "about"], "nvidia"), "$.cutoffs", "one cutoff each"),
        (FILE, set_in(["key_guards", 0, "releases"], "old ones"), "$.key_guards[0].releases", "old ones"),
        (FILE, set_in(["key_guards", 0, "guarded"], ["v1"]), "$.key_guards[0]", "begins with /"),
        (FILE, lambda root: root["advisories"].reverse(), "$.advisories[1]", "out of order"),
        ("driver_security.json", set_in([0, "fixed", "535"], "550.90.07"), "$[0].fixed.535", "550.90.07"),
        ("driver_security.json", set_in([0, "date"], "2024"), "$[0].date", "no ISO date"),
        ("driver_security.json", set_in([0, "geforce_only"], ["610"]), "$[0].geforce_only", "without a fix"),
    ],
)
def test_a_fault_is_found_where_it_was_planted(spoil: Spoil, file: str, edit: Callable[[Any], None], place: str, what: str) -> None:
    problems = validate(spoil(file, edit))
    assert [problem for problem in problems if problem.path == place and what in problem.what], problems


@pytest.mark.parametrize("text", ["", "0.8", "==0.8", "~=0.8", ">=x", "!=1", "<=", ">=1;<2"])
def test_other_forms_are_no_range(text: str) -> None:
    with pytest.raises(InvalidVersion):
        span(text)


NUMBERS = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: f"{pair[0]}.{pair[1]}")


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from([">=", ">"]), st.sampled_from(["<", "<="]))
def test_plain_releases_lie_in_a_range_as_in_the_specifier(lower: str, upper: str, version: str, left: str, right: str) -> None:
    text = f"{left}{lower},{right}{upper}"
    assert span(text).contains(Version(version)) == SpecifierSet(text).contains(version)


def test_a_candidate_lies_before_its_release_which_a_specifier_leaves_out() -> None:
    assert span("<0.22.0").contains(Version("0.22.0rc1"))
    assert not SpecifierSet("<0.22.0").contains("0.22.0rc1", prereleases=True)
