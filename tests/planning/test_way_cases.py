"""The way out that worked for somebody is among the first three that a plan names for the same host.

`way_cases.json` was written by hand from public threads, in its own words: the host as it was stated (`completed` names what a thread
leaves out and the case adds), what was wrong, and as matchers of a way the `fix` that worked, or where nobody confirmed it, that was
advised. `less` is a way that changes less and that the facts support, `because` says why. `never` must not be in any command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from envcheck.model.request import Request
from envcheck.model.ways import INTRUSION, Way
from envcheck.render.catalogue import Catalogue

TABLE = json.loads(Path(__file__).with_name("way_cases.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]
LEFT_OUT: list[dict[str, Any]] = TABLE["left_out"]
FIRST = 3
KEYS = {"kind", "text", "because", "of", "vllm", "variant", "cuda", "torch", "python", "driver"}
ENGLISH = Catalogue("en")


def told(way: Way) -> str:
    """What a person reads of a way: its title, its commands, and what it mends first."""
    first = (line for remedy in way.first for line in (ENGLISH.text(remedy.note), *remedy.commands))
    return "\n".join((ENGLISH.text(way.title), *way.commands, *first))


def offered(way: Way) -> dict[str, str]:
    """The versions that a way leads to."""
    found = {"driver": str(way.after.get("driver.version") or "").split("-")[0]}
    if way.stack:
        found.update(vllm=way.stack.vllm, variant=way.stack.variant, cuda=way.stack.cuda, torch=way.stack.torch, python=way.stack.python)
    if way.image:
        found.update(vllm=way.image.release, cuda=way.image.cuda)
    return found


def matches(way: Way, matcher: dict[str, Any]) -> bool:
    """Whether a way is the one described."""
    versions = offered(way)
    for key, wanted in matcher.items():
        if key == "kind" and way.kind not in wanted:
            return False
        if key == "variant" and versions.get(key) != wanted:
            return False
        if key == "text" and not re.search(wanted, told(way)):
            return False
        if key in ("vllm", "cuda", "torch", "python", "driver"):
            there = versions.get(key)
            if not there or not SpecifierSet(wanted, prereleases=True).contains(there):
                return False
    return True


def shown(ways: tuple[Way, ...]) -> list[str]:
    return [f"{way.kind} [{way.proof and way.proof.value}] {offered(way)} {told(way)[:300]}" for way in ways]


def matchers(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from case.get("fix", ())
    yield from case.get("less", ())
    yield from case.get("instead", ())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_way_that_worked_is_among_the_first_three(plan_for: Any, case: dict[str, Any]) -> None:
    ways = plan_for(case["host"], **case.get("request", {})).plan.ways
    accepted = [*case["fix"], *case.get("less", ())]
    assert any(matches(way, matcher) for way in ways[:FIRST] for matcher in accepted), shown(ways[:6])


@pytest.mark.parametrize("case", [case for case in (*CASES, *LEFT_OUT) if "never" in case], ids=lambda case: case["name"])
def test_what_must_not_be_typed_there_is_not_named(plan_for: Any, case: dict[str, Any]) -> None:
    ways = plan_for(case["host"], **case.get("request", {})).plan.ways
    commands = [line for way in ways for line in (*way.commands, *(line for remedy in way.first for line in remedy.commands))]
    assert [line for line in commands if re.search(case["never"], line)] == []


@pytest.mark.parametrize("case", [case for case in LEFT_OUT if "instead" in case], ids=lambda case: case["name"])
def test_where_no_plan_can_say_the_fix_something_else_is_named(plan_for: Any, case: dict[str, Any]) -> None:
    ways = plan_for(case["host"]).plan.ways
    assert any(matches(way, matcher) for way in ways[:FIRST] for matcher in case["instead"]), shown(ways[:6])


def test_the_table_says_what_it_may_say() -> None:
    for case in (*CASES, *LEFT_OUT):
        assert case["thread"].startswith("https://github.com/")
        for matcher in matchers(case):
            assert matcher.keys() <= KEYS, case["name"]
            assert set(matcher["kind"]) <= set(INTRUSION), case["name"]
            # the kind alone would let anything pass, but for the kinds that are one thing
            assert matcher.keys() - {"kind", "of"} or set(matcher["kind"]) <= {"image", "compat", "reboot", "hardware"}, case["name"]
    names = [case["name"] for case in (*CASES, *LEFT_OUT)]
    assert len(set(names)) == len(names)
    assert all(Request(**case["request"]) for case in CASES if "request" in case)


def test_what_is_taken_instead_of_the_fix_changes_less() -> None:
    for case in CASES:
        for matcher in case.get("less", ()):
            assert matcher["because"], case["name"]
            fixes = [fix for fix in case["fix"] if matcher.get("of") in (None, *fix["kind"])]
            least = min(INTRUSION.index(kind) for fix in fixes for kind in fix["kind"])
            assert max(INTRUSION.index(kind) for kind in matcher["kind"]) < least, case["name"]
