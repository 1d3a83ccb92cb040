"""Faults of regressions, planted in a copy of the shipped facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.validate import validate

Spoil = Callable[[str, Callable[[Any], None]], Path]
FILE = "regressions.json"


def put(name: str, /, **values: Any) -> Callable[[Any], None]:
    """Fields set, or with None taken away, in the record of that id."""

    def edit(root: Any) -> None:
        record = next(record for record in root if record["id"] == name)
        for field, value in values.items():
            record[field] = value
            if value is None:
                del record[field]

    return edit


@pytest.mark.parametrize(
    ("edit", "place", "what"),
    [
        (put("ray-pipeline", releases="before 0.11.2"), ".releases", "no specifier"),
        (put("ray-pipeline", releases="==0.11.9"), ".releases", "there is no release 0.11.9"),
        (put("ray-pipeline", releases=">0.33.0"), ".releases", "no release is in"),
        (put("ray-pipeline", fixed="0.11.7"), ".fixed", "there is no release 0.11.7"),
        (put("ray-pipeline", fixed="0.11.1"), ".fixed", "shows it itself"),
        (put("ray-pipeline", good_before="0.11.1"), ".good_before", "shows it itself"),
        (put("ray-pipeline", fixed=None), ".fixed", "neither a release without it"),
        (put("moe-fp8-throughput", good_before=None), ".good_before", "neither a release without it"),
        (put("moe-compiled-output", severity="avoid"), ".severity", "no release is known to go to"),
        (put("ray-pipeline", condition={"capability_from": "hopper"}), ".condition.capability_from", "no compute capability"),
        (put("ray-pipeline", condition={"models": ["qwen3_5"]}), ".condition.models", "qwen3_5"),
        (put("ray-pipeline", condition={"gpus": ["GB10"]}), ".condition.gpus", "GB10"),
        (put("ray-pipeline", condition={"arguments": {"max-model-len": ""}}), ".condition.arguments", "max-model-len"),
        (put("ray-pipeline", condition={"arguments": {"max_model_len": "> 5"}}), ".condition.arguments", "> 5"),
        (put("ray-pipeline", sources=[]), "", "no source"),
        (put("ray-pipeline", severity="grave"), ".severity", "grave"),
        (put("ray-pipeline", condition={"gpu": ["gb10"]}), ".condition", "gpu"),
    ],
)
def test_a_fault_is_found_where_it_was_planted(spoil: Spoil, edit: Callable[[Any], None], place: str, what: str) -> None:
    problems = [problem for problem in validate(spoil(FILE, edit)) if problem.file.endswith(FILE)]
    assert [problem for problem in problems if problem.path.endswith(place) and what in problem.what], problems
