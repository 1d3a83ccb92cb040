"""Which release is planned and why not the next one: dates, regressions and advisories of the shipped facts, on hosts by hand.

Dates of releases, as the package index has them: 0.33.0 2026-11-02, 0.32.0 2026-10-18, 0.19.1 2026-04-18, 0.19.0 2026-04-03,
0.18.1 2026-03-31, 0.17.1 2026-03-11. A stable choice wants 21 days.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.planning.choice import Chosen, candidates, choose
from envcheck.rules.check import judge

DECEMBER = date(2026, 12, 1)


def host(gpu: str, capability: str, driver: str, python: str = "3.12.3") -> dict[str, Any]:
    return {
        "os": {"name": "Ubuntu 22.04", "glibc": "2.35", "arch": "x86_64"},
        "python": {"version": python},
        "driver": {"version": driver},
        "gpus": [{"name": gpu, "compute_capability": capability, "memory_mib": 46068}],
        "torch": None,
        "packages": {},
    }


A10 = host("NVIDIA A10", "8.6", "580.95.05")
A10_550 = host("NVIDIA A10", "8.6", "550.144.03")
T4 = host("Tesla T4", "7.5", "580.95.05")
RTX_PRO = host("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0", "580.95.05")


def chosen(matrix: Matrix, document: dict[str, Any], today: date | None = DECEMBER, **request: Any) -> Chosen:
    asked = msgspec.convert(request, Request)
    judgement = judge(msgspec.convert(document, HostReport), matrix, asked)
    return choose(candidates(judgement, matrix, asked.vllm), judgement, matrix, asked, today)


def names(found: Chosen) -> tuple[str, str | None]:
    return found.choice.judged.release.raw, found.runner_up.judged.release.raw if found.runner_up else None


def keys(found: Chosen) -> list[str]:
    return [reason.key for reason in found.reasons]


def test_the_newest_that_runs_with_its_age_and_what_the_next_has_against_it(matrix: Matrix) -> None:
    found = chosen(matrix, A10)
    assert names(found) == ("0.33.0", "0.32.0")
    assert found.reasons[0].params == {"vllm": "0.33.0", "date": "2026-11-02", "days": 29}
    assert (found.reasons[1].params["other"], found.reasons[1].params["days"]) == ("0.32.0", 15)


def test_without_a_date_no_age_is_stated(matrix: Matrix) -> None:
    assert keys(chosen(matrix, A10, None))[0] == "choice.newest"


@pytest.mark.parametrize(
    ("today", "release"),
    [
        (date(2026, 11, 10), "0.32.0"),  # 0.33.0 is 8 days old
        (date(2026, 11, 22), "0.32.0"),  # 20 days
        (date(2026, 11, 23), "0.33.0"),  # 21 days
    ],
)
def test_stable_waits_until_a_release_has_some_age(matrix: Matrix, today: date, release: str) -> None:
    assert names(chosen(matrix, A10, today, prefer="stable"))[0] == release
    assert names(chosen(matrix, A10, today))[0] == "0.33.0"


def test_stable_says_whom_it_passed_over_and_by_how_many_days(matrix: Matrix) -> None:
    found = chosen(matrix, A10, date(2026, 11, 10), prefer="stable")
    assert names(found) == ("0.32.0", "0.33.0")
    assert keys(found) == ["choice.young", "choice.proven-days"]
    assert found.reasons[0].params == {"other": "0.33.0", "days": 8, "least": 21}


def test_stable_takes_the_last_patch_release_of_a_series(matrix: Matrix) -> None:
    # 0.19.1 is 2 days old, 0.19.0 and 0.18.1 are younger than 21 days, 0.18.0 is old enough but replaced by 0.18.1.
    assert names(chosen(matrix, A10_550, date(2026, 4, 20), prefer="stable")) == ("0.17.1", "0.19.1")


def test_where_all_are_too_young_the_newest_is_taken_and_that_is_said(matrix: Matrix) -> None:
    found = chosen(matrix, A10, date(2026, 11, 10), vllm="0.33", prefer="stable")
    assert names(found)[0] == "0.33.0"
    assert keys(found) == ["choice.none-aged"]


def test_a_release_that_breaks_what_is_wanted_is_passed_over_with_the_source(matrix: Matrix) -> None:
    wanted = {"vllm": ">=0.23,<0.25", "serve_args": {"quantization": "fp8"}}
    found = chosen(matrix, RTX_PRO, **wanted)
    assert names(found) == ("0.23.0", "0.24.0")
    assert keys(found) == ["choice.regression", "regression.deepgemm-sm120", "choice.without-days"]
    assert found.reasons[0].params["source"] == "https://github.com/vllm-project/vllm/issues/47130"


@pytest.mark.parametrize(
    ("document", "serve_args"),
    [(RTX_PRO, {}), (RTX_PRO, {"quantization": "awq"}), (A10, {"quantization": "fp8"})],
    ids=["nothing stated", "another format", "another GPU"],
)
def test_the_same_release_is_taken_where_the_regression_does_not_matter(
    matrix: Matrix, document: dict[str, Any], serve_args: dict[str, Any]
) -> None:
    assert names(chosen(matrix, document, vllm=">=0.23,<0.25", serve_args=serve_args))[0] == "0.24.0"


def test_on_a_t4_releases_whose_attention_kernel_fails_are_passed_over(matrix: Matrix) -> None:
    assert names(chosen(matrix, T4, vllm=">=0.20,<0.24"))[0] == "0.21.0"
    assert names(chosen(matrix, A10, vllm=">=0.20,<0.24"))[0] == "0.23.0"
    assert names(chosen(matrix, T4))[0] == "0.33.0"


def test_what_is_asked_for_by_name_is_planned_and_the_fault_is_said(matrix: Matrix) -> None:
    found = chosen(matrix, A10, vllm="0.25.0")
    assert names(found) == ("0.25.0", None)
    assert keys(found) == ["choice.kept-asked", "regression.torchcodec-at-import"]
    assert names(chosen(matrix, A10, vllm="0.25"))[0] == "0.25.1"


def test_stable_goes_back_to_a_release_without_an_advisory_that_the_request_meets(matrix: Matrix) -> None:
    """CVE-2025-9141 is about the tool parser of Qwen3-Coder in 0.10.0 and 0.10.1; 0.9.2 does not have it."""
    before = ">=0.9.2,<0.10.1.1"
    found = chosen(matrix, A10, vllm=before, prefer="stable", serve_args={"tool_call_parser": "qwen3_coder"})
    assert names(found) == ("0.9.2", "0.10.1")
    assert found.reasons[0].key == "choice.advisories"
    assert found.reasons[0].params["ids"] == ("CVE-2025-9141",)
    assert names(chosen(matrix, A10, vllm=before, prefer="stable", serve_args={"tool_call_parser": "hermes"}))[0] == "0.10.1"
    assert names(chosen(matrix, A10, vllm=before, serve_args={"tool_call_parser": "qwen3_coder"}))[0] == "0.10.1"


def test_candidates_are_those_of_the_hosts_own_interpreter_newest_first(matrix: Matrix) -> None:
    old = host("NVIDIA A10", "8.6", "580.95.05", "3.10.12")
    judgement = judge(msgspec.convert(old, HostReport), matrix, Request())
    found = candidates(judgement, matrix)
    assert found[0].judged.release.raw == "0.31.0"  # 0.32.0 and later want Python 3.11
    versions = [one.judged.release.version for one in found]
    assert versions == sorted(versions, reverse=True)
    assert not any(one.new_python for one in found)


def test_candidates_of_a_label_are_its_wheels(matrix: Matrix) -> None:
    judgement = judge(msgspec.convert(A10_550, HostReport), matrix, Request(vllm="0.32.0+cu129"))
    assert [one.judged.build.variant for one in candidates(judgement, matrix, "0.32.0+cu129")] == ["cu129"]
    assert candidates(judgement, matrix, "0.32.0") == ()
