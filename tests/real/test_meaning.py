"""The check of what a release made of a command sees what it is there to see."""

from __future__ import annotations

from typing import Any

import pytest

from tests.real.commands import Command, Wish
from tests.real.flags_held import differences
from tests.real.meaning import faults, holds, meant, misjudged

OPTIONS = {
    "--device-ids": {"dest": "device_ids"},
    "--enable-prefix-caching": {"dest": "enable_prefix_caching"},
    "--max-model-len": {"dest": "max_model_len"},
    "--max-num-seqs": {"dest": "max_num_seqs"},
}


def command(settings: dict[str, str | None], arguments: str = "", **other: Any) -> Command:
    empty: dict[str, Any] = {"codes": frozenset(), "errors": frozenset(), "notes": "", "environment": {}}
    return Command(wish=Wish("h20x8", "M", arguments), argv=["M"], settings=settings, **(empty | other))


def told(values: dict[str, Any], stage: str = "accepted", **other: Any) -> dict[str, Any]:
    return {"stage": stage, "message": None, "values": values, "changed": values, "warnings": [], "configuration": None} | other


def test_what_is_taken_as_meant_has_no_fault() -> None:
    asked = command({"--max-model-len": "8k", "--no-enable-prefix-caching": None}, "--no-enable-prefix-caching")
    assert faults(asked, told({"model": "M", "max_model_len": 8000, "enable_prefix_caching": False}), OPTIONS) == []


@pytest.mark.parametrize(
    ("settings", "answer", "fault"),
    [
        ({"--device": "cpu"}, told({"device_ids": ["cpu"]}), "--device is taken for another argument"),
        ({"--max-num-seqs": "64"}, told({"max_num_seqs": 46}), "--max-num-seqs 64 became 46"),
        ({"--no-enable-prefix-caching": None}, told({"enable_prefix_caching": True}), "--no-enable-prefix-caching  became True"),
        ({}, told({"swap_space": 0}), "swap_space was not meant to change, and is 0"),
        ({}, told({}, "parse", message="invalid choice"), "the parser refuses: invalid choice"),
        ({}, told({}, "configuration", message="too large"), "the configuration refuses: too large"),
        (
            {"--max-num-seqs": "64"},
            told({"max_num_seqs": 64}, configuration={"max_num_seqs": 8}),
            "max_num_seqs: 64 became 8 in the configuration",
        ),
        (
            {"--max-num-seqs": "64"},
            told({"max_num_seqs": 64}, warnings=["argument '--max-num-seqs' is deprecated"]),
            "warned: argument '--max-num-seqs' is deprecated",
        ),
    ],
)
def test_a_fault_is_seen(settings: dict[str, str | None], answer: dict[str, Any], fault: str) -> None:
    assert fault in faults(command(settings), answer, OPTIONS)


def test_an_argument_that_is_gone_needs_a_note() -> None:
    assert faults(command({}, "--swap-space 0"), told({}), OPTIONS) == ["--swap-space is gone"]
    assert faults(command({}, "--swap-space 0", notes="`--swap-space` is left out"), told({}), OPTIONS) == []


def test_a_refusal_needs_a_finding_and_a_finding_a_refusal() -> None:
    silent, said = command({}), command({}, codes=frozenset({"flag-not-in-release"}))
    accepted, refused = told({}), told({}, "parse", message="unrecognized arguments")
    assert misjudged(silent, accepted) is None
    assert misjudged(said, refused) is None
    assert misjudged(silent, refused) is not None
    assert misjudged(said, accepted) is not None


def test_values_are_what_vllm_makes_of_their_spelling() -> None:
    assert meant("--max-model-len", "8K") == 8192
    assert meant("--enable-log-requests", None) is True
    assert meant("--disable-log-requests", None, "enable_log_requests") is False
    assert holds({"image": 2}, "image=2")
    assert holds(["first"], "first")
    assert not holds({"image": 3}, {"image": 2})


def test_a_parser_of_one_argument_differs_from_the_matrix() -> None:
    said = {"dest": "max_model_len", "choices": ["1"], "default": None, "nargs": None}
    found = differences("0.33.0", {"--max-model-len": said, "--new": said | {"dest": "new"}})
    assert "the matrix lacks --new" in found
    assert "the parser lacks --max-num-seqs" in found
    assert "--max-model-len: choices None, the parser's ['1']" in found
