"""Every finding of the rules, with the host that has it and a twin that differs in the one deciding fact. Cases stand in `cases/`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.rules.check import Judgement
from envcheck.rules.memory import CODES

RULES = Path(__file__).parents[2] / "envcheck" / "rules"
OF_SIZE = {".size", ".unfit"}  # wordings of the memory budget, which has no host of its own: see test_memory_findings.py
TEXTS = Path(__file__).parents[2] / "envcheck" / "render" / "texts" / "en.json"
MAKERS = {"error", "warning", "info", "finding", "Clash"}

Ask = Callable[..., Judgement]
Case = dict[str, Any]


def test_the_host_has_the_finding(ask: Ask, case: Case) -> None:
    code = case["code"].split(".")[0]
    findings = ask(case["base"], case["set"], **case.get("request", {})).findings
    found = next((finding for finding in findings if finding.code == code), None)
    assert found is not None, f"{case['why']}: {[finding.code for finding in findings]}"
    assert found.detail.key == f"finding.{case['code']}", case["why"]
    assert found.severity.value == case["severity"], case["why"]
    assert not case.get("first") or findings[0] is found, f"{case['why']}: {[finding.code for finding in findings]}"


def test_its_twin_has_not(ask: Ask, case: Case) -> None:
    code = case["code"].split(".")[0]
    findings = ask(case["base"], {**case["set"], **case["twin"]}, **case.get("request", {})).findings
    assert code not in [finding.code for finding in findings], case["why"]


def test_a_twin_differs_in_one_fact(case: Case) -> None:
    assert len(case["twin"]) == 1
    assert case["why"]


def emitted_codes(vocabulary: set[str]) -> set[str]:
    """Codes that the rules can emit: literals of the vocabulary anywhere in their source, and whatever a maker of findings is given."""
    found: set[str] = set()
    for path in RULES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in vocabulary:
                found.add(str(node.value))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS and node.args:
                code = node.args[0]
                found |= {code.value} if isinstance(code, ast.Constant) and isinstance(code.value, str) else set()
    return found


@pytest.fixture(scope="module")
def emitted(matrix: Matrix) -> set[str]:
    return emitted_codes(set(matrix.codes))


def test_the_search_for_codes_sees_all_ways_of_writing_them(emitted: set[str]) -> None:
    # a literal argument, a variable, a conditional maker
    assert {"no-gpu", "gpu-too-old", "glibc-too-old", "gpu-fault", "fabric-manager-not-ready"} <= emitted


def test_every_code_is_of_the_vocabulary(emitted: set[str], matrix: Matrix) -> None:
    assert emitted <= set(matrix.codes)


def test_every_code_has_a_case_and_with_it_a_twin(emitted: set[str], every_case: list[Case]) -> None:
    assert emitted - {case["code"].split(".")[0] for case in every_case} - set(CODES.values()) == set()


def test_every_wording_of_a_code_has_a_case(emitted: set[str], every_case: list[Case]) -> None:
    keys = [key for key in json.loads(TEXTS.read_text(encoding="utf-8")) if re.match(r"finding\.", key)]
    worded = {key.removeprefix("finding.") for key in keys if key.split(".")[1] in emitted and not key.endswith(tuple(OF_SIZE))}
    assert worded - {case["code"] for case in every_case} == set()


def test_no_rule_fails_on_any_case(ask: Ask, every_case: list[Case]) -> None:
    for case in every_case:
        judgement = ask(case["base"], case["set"], **case.get("request", {}))
        assert [text.params for text in judgement.undecided if text.key == "undecided.internal"] == [], case["why"]
