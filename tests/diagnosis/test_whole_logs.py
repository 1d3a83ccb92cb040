"""Whole logs made of the signatures' own lines: several causes, ranks, collectors' prefixes, Chinese around, cut off anywhere."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.matrix.load import load
from envcheck.matrix.signatures import Signature

MATRIX = load()
HEALTHY = (
    "INFO 11-30 17:00:01 [api_server.py:1772] vLLM API server version 0.28.0",
    "INFO 11-30 17:00:02 [__init__.py:241] Automatically detected platform cuda.",
    "WARNING 11-30 17:00:03 [cuda.py:103] Current VLLM_ATTENTION_BACKEND is not set; a default is used.",
    "INFO 11-30 17:00:04 [parallel_state.py:1134] rank 0 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 0",
    "INFO 11-30 17:00:09 [gpu_model_runner.py:2338] Starting to load model Qwen/Qwen3-8B...",
)
WRAPPERS = (
    "(EngineCore pid=6) ERROR 11-30 17:00:40 [core.py:700] EngineCore failed to start.",
    "(APIServer pid=5) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
)
# What stands by itself, and tells an error.
CAUSES = [one for one in MATRIX.signatures if one.severity == "error" and one.role == "cause" and not one.before]
PREFIXES = (
    "",
    "(RayWorkerWrapper pid=912, ip=10.0.0.2) ",
    "2026-11-30T17:00:30.123456789Z stderr F ",
    "Nov 30 17:00:30 gpu-7 vllm[4711]: ",
    "vllm-1  | ",
    "[rank2]: ",
    "\x1b[1;36m(Worker_TP1 pid=31)\x1b[0;0m ",
    "报错：",
)


def codes(text: str) -> list[str]:
    return [finding.code for finding in diagnose_text(text, MATRIX).findings]


def one_line(signature: Signature) -> str:
    return signature.examples[0].splitlines()[0]


def alone(signature: Signature) -> bool:
    """Whether the first line of its example tells it: some examples are of several lines."""
    return codes(one_line(signature)) == [signature.code]


ALONE = [one for one in CAUSES if alone(one)]


def test_most_causes_are_told_by_one_line() -> None:
    assert len(ALONE) >= 0.8 * len(CAUSES)


@pytest.mark.parametrize("seed", range(150))
def test_of_two_causes_the_first_is_named_first_whatever_is_around_it(seed: int) -> None:
    rng = random.Random(seed)
    first, second = rng.sample(ALONE, 2)
    explained = MATRIX.causes.get(second.code, frozenset()) | {second.code}
    if first.code in explained:
        return
    prefix = rng.choice(PREFIXES)
    ranks = [f"{prefix}{one_line(first)}"] * rng.randint(1, 8)
    later = [f"{prefix}{one_line(second)}", *WRAPPERS]
    noise = [rng.choice(HEALTHY) for _ in range(10)]
    body = [*HEALTHY, ranks[0]]
    rest = [*ranks[1:], *noise]
    rng.shuffle(rest)
    text = "\n".join([*body, *rest, *later]) + "\n"
    assert codes(text)[:1] == [first.code], (first.id, second.id)
    assert len(codes(text)) <= 3


@pytest.mark.parametrize("name", [one.id for one in random.Random(7).sample(ALONE, 40)])
def test_a_log_cut_off_behind_its_cause_still_names_it(name: str) -> None:
    signature = next(one for one in ALONE if one.id == name)
    text = "\n".join([*HEALTHY, one_line(signature), *HEALTHY, *WRAPPERS]) + "\n"
    start = text.index(one_line(signature)) + len(one_line(signature))
    for cut in range(start, len(text), 37):
        assert codes(text[:cut])[:1] == [signature.code], cut


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(ALONE) - 1), st.sampled_from(PREFIXES), st.sampled_from(("", " 请问怎么解决？", "  <-- here", "\r")))
def test_what_stands_before_and_behind_a_line_does_not_matter(place: int, prefix: str, behind: str) -> None:
    signature = ALONE[place]
    found = codes(f"日志如下：\n{prefix}{one_line(signature)}{behind}\n谢谢\n")
    assert found[:1] == [signature.code], signature.id


def test_text_about_anything_else_raises_nothing() -> None:
    subjects = ["The river", "A teacher", "My neighbour", "This recipe", "The council", "An old map", "Our train", "A small dog"]
    verbs = ["opened", "described", "ignored", "failed to notice", "could not find", "refused", "repaired", "lost", "exceeded"]
    objects = ["the garden gate", "a wooden table", "every invitation", "its own memory of summer", "a letter", "the limit", "an error"]
    ends = ["before breakfast.", "during the storm.", "without a word.", "for the third time.", "although nobody asked.", "in vain."]
    rng = random.Random(5)
    lines = [" ".join(rng.choice(words) for words in (subjects, verbs, objects, ends)) for _ in range(1000)]
    assert codes("\n".join(lines)) == []
    assert [line for line in lines if codes(line)] == []


def test_what_a_healthy_start_logs_raises_nothing() -> None:
    answer = diagnose_text("\n".join(HEALTHY * 50), MATRIX)
    assert answer.status == "nothing"
