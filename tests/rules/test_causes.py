"""Folding of findings under their cause, and the facts a finding rests on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Severity
from envcheck.model.host import HostReport
from envcheck.model.text import Text
from envcheck.rules.causes import fold, ordered
from envcheck.rules.evidence import facts_of, with_evidence
from envcheck.rules.registry import JUDGE_CODES, reads_of, rules


def found(code: str, severity: str = "error") -> Finding:
    return Finding(code, Severity(severity), Text(f"finding.{code}.detail", {}))


def world(**causes: list[str]) -> Any:
    """A matrix that knows only causes; `a_b` stands for the code `a-b`."""
    return SimpleNamespace(causes={code: frozenset(explained) for code, explained in causes.items()})


def shape(findings: tuple[Finding, ...]) -> list[Any]:
    return [(finding.code, [inner.code for inner in finding.consequences]) for finding in findings]


def test_what_follows_goes_under_its_cause_and_the_order_stays():
    folded = fold([found("c"), found("b"), found("a")], world(a=["b"]))
    assert shape(folded) == [("c", []), ("a", ["b"])]


def test_what_a_consequence_explains_goes_along():
    folded = fold([found("a"), found("b"), found("c", "warning")], world(a=["b"], b=["c"]))
    assert shape(folded) == [("a", ["b", "c"])]


def test_a_warning_does_not_swallow_an_error():
    folded = fold([found("b"), found("a", "warning")], world(a=["b"]))
    assert shape(folded) == [("b", []), ("a", [])]


def test_two_that_explain_each_other_leave_the_earlier_on_top():
    assert shape(fold([found("a"), found("b")], world(a=["b"], b=["a"]))) == [("a", ["b"])]
    assert shape(fold([found("b"), found("a")], world(a=["b"], b=["a"]))) == [("b", ["a"])]


@pytest.mark.parametrize("codes", [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]])
def test_a_ring_of_causes_loses_none(codes):
    folded = fold([found(code) for code in codes], world(a=["b"], b=["c"], c=["a"]))
    named = [finding.code for finding in folded] + [inner.code for finding in folded for inner in finding.consequences]
    assert sorted(named) == ["a", "b", "c"]
    assert len(folded) == 1


def test_a_code_is_said_once_in_its_gravest_form():
    result = ordered([found("a", "info"), found("b", "warning"), found("a", "error")])
    assert [(finding.code, finding.severity) for finding in result] == [("a", Severity.ERROR), ("b", Severity.WARNING)]


HOST: dict[str, Any] = {
    "driver": {"version": "470.161.03", "nvml": "ok"},
    "gpus": [{"index": 0, "name": "NVIDIA A10", "uuid": "GPU-1", "memory_mib": 23028}],
    "provenance": {
        "driver.version": {"state": "found", "source": "/sys/module/nvidia/version"},
        "gpus": {"state": "found", "source": "NVML"},
    },
}


def test_a_finding_names_the_facts_it_rests_on_and_where_each_was_read():
    host = msgspec.convert(HOST, HostReport)
    seen = {fact.path: (fact.value, fact.source) for fact in facts_of("driver-too-old-for-cuda", host)}
    assert seen["driver.version"] == ("470.161.03", "/sys/module/nvidia/version")
    assert seen["gpus.0.name"] == ("NVIDIA A10", "NVML")
    assert "gpus.0.uuid" not in seen  # a serial number tells nothing
    assert "libcuda" not in seen  # not known, so nothing rests on it


def test_a_plain_host_has_facts_without_source():
    host = msgspec.convert({"driver": {"version": "470"}}, HostReport)
    assert [(fact.path, fact.source) for fact in facts_of("driver-too-old-for-cuda", host)] == [("driver.version", None)]


def test_consequences_have_their_evidence_too():
    host = msgspec.convert(HOST, HostReport)
    matrix = Matrix(Path(__file__).parents[2] / "matrices")
    parent = msgspec.structs.replace(found("nouveau-loaded"), consequences=(found("driver-not-loaded"),))
    (filled,) = with_evidence((parent,), host, matrix)
    assert filled.sources
    assert filled.consequences[0].facts


def test_every_code_of_a_rule_says_what_it_reads():
    codes = {code for rule in rules() for code in rule.codes} | set(JUDGE_CODES)
    assert [code for code in codes if not reads_of(code)] == []


def test_rules_read_only_what_the_document_has():
    empty = HostReport()
    for code in {code for rule in rules() for code in rule.codes} | set(JUDGE_CODES):
        for path in reads_of(code):
            first, _, rest = path.partition(".")
            assert first in empty.__struct_fields__, path
            if rest and first not in ("packages", "environment", "network", "observed"):
                assert f".{rest}" in _fields(first), path


def _fields(part: str) -> str:
    """The fields of a part, each with a dot before it."""
    kinds = [kind for kind in msgspec.inspect.type_info(HostReport).fields if kind.name == part]  # type: ignore[attr-defined]
    inner = next(kind for kind in kinds[0].type.types if isinstance(kind, msgspec.inspect.StructType))
    return " ".join(f".{field.name}" for field in inner.fields)
