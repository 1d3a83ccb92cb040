"""A rule's condition may be too wide, never too narrow: what the rule would find, it finds through the registry too."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules import conditions
from envcheck.rules.registry import function, rules
from envcheck.rules.situation import read_situation

HERE = Path(__file__).parent


def hidden(host: HostReport, request: Request, matrix: Matrix) -> list[str]:
    """The rules that would have spoken and were not asked."""
    situation = read_situation(host, matrix, request)
    return [rule.name for rule in rules() if not rule.when(situation) and list(function(rule.name)(situation, matrix))]


def test_no_condition_hides_a_finding_of_a_case(
    matrix: Matrix, every_case: list[dict[str, Any]], asked: Callable[..., tuple[HostReport, Request]]
) -> None:
    for case in every_case:
        for facts in (case["set"], {**case["set"], **case["twin"]}):
            assert hidden(*asked(case["base"], facts, **case.get("request", {})), matrix) == [], case["why"]


def stated_hosts() -> Iterator[dict[str, Any]]:
    kinds = json.loads((HERE / "kinds.json").read_text(encoding="utf-8"))
    yield from (entry["host"] for group in kinds.values() for entry in group)


def test_nor_of_hosts_as_reports_state_them(matrix: Matrix) -> None:
    hosts = [msgspec.convert(host, HostReport, strict=False) for host in stated_hosts()]
    assert len(hosts) > 50
    for host in hosts:
        assert hidden(host, Request(), matrix) == []
        # A fact less may not turn a condition against its rule.
        for field in host.__struct_fields__:
            assert hidden(replace(host, **{field: msgspec.UNSET}), Request(), matrix) == [], field


def test_every_condition_is_used() -> None:
    members = {name: value for name, value in vars(conditions).items() if inspect.isfunction(value) and not name.startswith("_")}
    own = {name for name, value in members.items() if value.__module__ == conditions.__name__}
    assert own == {rule.when.__name__ for rule in rules()}
    assert len(own) > 10


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_every_name_leads_to_a_rule(rule: Any) -> None:
    found = function(rule.name)
    assert list(inspect.signature(found).parameters) == ["situation", "matrix"]
    assert found.__doc__
