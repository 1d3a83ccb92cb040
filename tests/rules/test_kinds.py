"""Hosts as reports state them, and hosts known to work: how often the judge names the cause, and how seldom it cries wolf.

`kinds.json` holds the facts that a report states, reworded, with its address: `failing` with the codes of which one is the cause, and
whether nothing starts (`error`) or it may (`warning`); `working` with hosts on which vLLM was seen serving, or is documented to.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.cli.batch_answer import Answerer
from envcheck.matrix.load import Matrix
from envcheck.render.catalogue import Catalogue
from envcheck.rules.registry import JUDGE_CODES, rules

Case = dict[str, Any]
Answers = dict[str, Any]
KINDS: dict[str, list[Case]] = json.loads((Path(__file__).parent / "kinds.json").read_text(encoding="utf-8"))
FAILING, WORKING = KINDS["failing"], KINDS["working"]

# Codes without a report here: notes that decide nothing, and what only more than a plain host document can show.
NOTES = {"driver-end-of-life", "driver-minor-compat", "gpu-load-uneven", "matrix-stale", "registry-unreachable", "release-vulnerable"}
ELSEWHERE = {
    "container-toolkit-too-old",
    "dependency-conflict",
    "gcc-unsupported-by-nvcc",
    "host-memory-too-small",
    "multiple-cuda-toolkits",
    "nccl-misconfigured",
}


@pytest.fixture(scope="module")
def answers(matrix: Matrix) -> Answers:
    """The answer of `batch` to every host."""
    answerer = Answerer(matrix, Catalogue("en"))
    found: Answers = {}
    for number, case in enumerate((*FAILING, *WORKING)):
        line = {"id": case["id"], "host": case["host"], "request": case.get("request", {}), "want": ["check"]}
        found[case["id"]] = json.loads(msgspec.json.encode(answerer.answer(json.dumps(line).encode(), number)))
    return found


def named(answer: Any, *severities: str) -> list[str]:
    """Codes in order, each once."""
    return list(dict.fromkeys(finding["code"] for finding in answer["findings"] if finding["severity"] in severities))


def missed(answers: Answers, among: int) -> list[str]:
    """Failing hosts whose cause is not among the first so many errors and warnings."""
    found = []
    for case in FAILING:
        codes = named(answers[case["id"]], "error", "warning")
        if not set(case["expects"]) & set(codes[:among]):
            found.append(f"{case['id']}: {' or '.join(case['expects'])}, got {codes}")
    return found


def test_every_host_is_answered(answers: Answers) -> None:
    assert [id_ for id_, answer in answers.items() if "error" in answer] == []
    assert len(answers) == len(FAILING) + len(WORKING)


def test_there_are_enough_of_them_and_each_says_where_it_is_from() -> None:
    assert len(FAILING) >= 80
    assert len(WORKING) >= 30
    assert [case["id"] for case in (*FAILING, *WORKING) if not case["source"].startswith("https://") or not case["why"]] == []


def test_every_code_that_a_host_can_show_has_a_report(matrix: Matrix) -> None:
    expected = {code for case in FAILING for code in case["expects"]}
    shown = {code for rule in rules() for code in rule.codes} | set(JUDGE_CODES)
    assert shown - expected - NOTES - ELSEWHERE == set()
    assert expected <= set(matrix.codes)


def test_the_cause_is_found_among_the_first_three(answers: Answers) -> None:
    wrong = missed(answers, among=3)
    assert len(wrong) <= 0.03 * len(FAILING), wrong


def test_the_cause_comes_first(answers: Answers) -> None:
    wrong = missed(answers, among=1)
    assert len(wrong) <= 0.06 * len(FAILING), wrong


def test_naming_everything_is_no_answer(answers: Answers) -> None:
    counts = Counter({case["id"]: len(named(answers[case["id"]], "error", "warning")) for case in FAILING})
    assert counts.total() <= 1.6 * len(FAILING), counts.most_common(8)


def test_what_does_not_start_is_blocked(answers: Answers) -> None:
    verdicts = {case["id"]: answers[case["id"]]["verdict"] for case in FAILING if case["severity"] == "error"}
    assert {id_: verdict for id_, verdict in verdicts.items() if verdict != "blocked"} == {}


def test_what_works_is_never_an_error(answers: Answers) -> None:
    wrong = {case["id"]: named(answers[case["id"]], "error") for case in WORKING}
    assert {id_: codes for id_, codes in wrong.items() if codes} == {}
    assert [case["id"] for case in WORKING if answers[case["id"]]["verdict"] == "blocked"] == []


def test_what_works_is_seldom_warned_of(answers: Answers) -> None:
    counts = {case["id"]: named(answers[case["id"]], "warning") for case in WORKING}
    assert sum(map(len, counts.values())) <= 0.3 * len(WORKING), {id_: codes for id_, codes in counts.items() if codes}
