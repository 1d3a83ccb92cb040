"""Arguments that a release parses and then refuses. Expectations from the releases' sources (vllm/engine/arg_utils.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.render.catalogue import Catalogue
from envcheck.rules.check import judge

MATRIX = Matrix(Path(__file__).parents[2] / "matrices")
DRAFT = {"method": "draft_model", "model": "a/small", "num_speculative_tokens": 3}
A10 = {"name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}
HOST: dict[str, Any] = {
    "os": {"arch": "x86_64", "glibc": "2.35"},
    "python": {"version": "3.12.3"},
    "driver": {"version": "580.95.05"},
    "gpus": [A10],
}


def refused(vllm: str, arguments: dict[str, Any]) -> list[str]:
    found = judge(msgspec.convert(HOST, HostReport), MATRIX, Request(vllm=vllm, serve_args=arguments)).findings
    return [Catalogue("en").text(one.detail) for one in found if one.code == "flag-value-invalid" and one.severity.value == "error"]


@pytest.mark.parametrize(
    ("arguments", "vllm", "wrong"),
    [
        ({"speculative_config": DRAFT}, "0.9.2", False),  # V0 speculates so
        ({"speculative_config": DRAFT}, "0.10.0", True),
        ({"speculative_config": msgspec.json.encode(DRAFT).decode()}, "0.14.0", True),
        ({"speculative_config": DRAFT}, "0.15.1", False),
        ({"speculative_config": {**DRAFT, "method": "ngram"}}, "0.11.0", False),
        ({"speculative_config": {"model": "a/small", "num_speculative_tokens": 3}}, "0.11.0", False),  # not known what it is
        ({"max_num_partial_prefills": 2}, "0.11.0", True),
        ({"max_num_partial_prefills": 1}, "0.11.0", False),
        ({"max_num_partial_prefills": 2}, "0.10.2", False),  # which takes V0 for it
    ],
)
def test_what_a_release_parses_and_refuses(arguments: dict[str, Any], vllm: str, wrong: bool) -> None:
    found = refused(vllm, arguments)
    assert bool(found) is wrong
    assert all(vllm in sentence and "does not start" in sentence for sentence in found)


def test_the_release_that_serves_it_is_a_way() -> None:
    found = judge(msgspec.convert(HOST, HostReport), MATRIX, Request(vllm="0.11.0", serve_args={"speculative_config": DRAFT})).findings
    one = next(finding for finding in found if finding.code == "flag-value-invalid")
    assert [remedy.kind for remedy in one.remedies] == ["other-wheel", "setting"]
    assert one.remedies[0].note.params["vllm"] == "0.15.1"
