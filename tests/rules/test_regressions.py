"""Whom a regression concerns: for each kind of condition a request that meets it, one that does not, and one that does not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.matrix.regressions import Condition
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.planned import Planned
from envcheck.rules.regressions import concerns, meets
from envcheck.rules.situation import read_situation

GH200 = {"os": {"arch": "aarch64"}, "gpus": [{"name": "NVIDIA GH200 480GB", "compute_capability": "9.0"}]}
A10 = {"os": {"arch": "x86_64"}, "gpus": [{"name": "NVIDIA A10", "compute_capability": "8.6"}]}
MIXED = {"gpus": [{"name": "NVIDIA A10", "compute_capability": "8.6"}, {"name": "Tesla T4", "compute_capability": "7.5"}]}
NOTHING: dict[str, Any] = {}
QWEN: dict[str, Any] = {"model_config": {"model_type": "qwen3_5_moe", "architectures": ["Qwen3_5MoeForConditionalGeneration"]}}
FP8 = {"model_config": {"model_type": "llama", "quantization_config": {"quant_method": "fp8"}}}

Met = Callable[..., "bool | None"]


@pytest.fixture(scope="session")
def met(matrix: Matrix) -> Met:
    """`met(condition, host, **request)`."""

    def judged(condition: dict[str, Any], host: dict[str, Any], **request: Any) -> bool | None:
        situation = read_situation(msgspec.convert(host, HostReport), matrix, msgspec.convert(request, Request))
        return meets(msgspec.convert(condition, Condition), Planned(situation, matrix), matrix)

    return judged


def test_a_regression_without_a_condition_concerns_everyone(met: Met) -> None:
    assert met({}, NOTHING) is True


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ({"arch": "aarch64"}, GH200, A10),
        ({"capability_from": "9.0"}, GH200, A10),
        ({"capability_to": "8.6"}, A10, GH200),
        ({"capability_from": "7.5", "capability_to": "7.5"}, MIXED, A10),
        ({"gpus": ["gh200"]}, GH200, A10),
    ],
)
def test_of_the_host(met: Met, condition: dict[str, Any], yes: dict[str, Any], no: dict[str, Any]) -> None:
    assert met(condition, yes) is True
    assert met(condition, no) is False
    assert met(condition, NOTHING) is None


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ({"models": ["qwen35moe"]}, QWEN, FP8),
        ({"quantization": ["fp8"]}, FP8, {"model_config": {"model_type": "llama"}}),
        ({"quantization": ["fp8"]}, {"serve_args": {"quantization": "fp8"}}, {"serve_args": {"quantization": "awq"}}),
        (
            {"planned": ["spec_decode"]},
            {"serve_args": {"speculative_config": {"method": "mtp"}}},
            {"serve_args": {"tensor_parallel_size": 2}},
        ),
        ({"arguments": {"tensor_parallel_size": ">=2"}}, {"serve_args": {"tensor_parallel_size": 2}}, {"serve_args": {"port": 8000}}),
        (
            {"arguments": {"tensor_parallel_size": ">=2"}},
            {"serve_args": {"tensor_parallel_size": "4"}},
            {"serve_args": {"tensor_parallel_size": 1}},
        ),
        ({"arguments": {"num_gpu_blocks_override": ""}}, {"serve_args": {"num_gpu_blocks_override": 500}}, {"serve_args": {"port": 8000}}),
        (
            {"arguments": {"kv_cache_dtype": "turboquant*"}},
            {"serve_args": {"kv_cache_dtype": "turboquant_4bit_nc"}},
            {"serve_args": {"kv_cache_dtype": "fp8"}},
        ),
        ({"arguments": {"kv_cache_dtype": "fp8"}}, {"serve_args": {"kv_cache_dtype": "FP8"}}, {"serve_args": {"kv_cache_dtype": "auto"}}),
    ],
)
def test_of_the_request(met: Met, condition: dict[str, Any], yes: dict[str, Any], no: dict[str, Any]) -> None:
    assert met(condition, A10, **yes) is True
    assert met(condition, A10, **no) is False
    assert met(condition, A10) is None


def test_one_part_that_does_not_hold_decides_whatever_else_is_not_known(met: Met) -> None:
    both = {"capability_from": "9.0", "models": ["qwen35moe"]}
    assert met(both, A10) is False
    assert met(both, GH200) is None
    assert met(both, GH200, **QWEN) is True


@pytest.mark.parametrize("value", [None, True, [], {}, "two", "9" * 5000, float("nan"), -1])
def test_no_argument_makes_it_fail(met: Met, value: Any) -> None:
    for wanted in ("", ">=2", "fp8"):
        assert met({"arguments": {"x": wanted}}, A10, serve_args={"x": value}) in (True, False, None)


def test_those_to_avoid_come_first_and_those_that_do_not_hold_are_left_out(matrix: Matrix) -> None:
    release = matrix.release("0.25.0")
    assert release is not None
    situation = read_situation(msgspec.convert(A10, HostReport), matrix, Request())
    found = concerns(release, situation, matrix)
    assert found[0].regression.id == "torchcodec-at-import"
    assert found[0].avoided
    assert "minimax-m2-gh200" not in {one.regression.id for one in found}
    assert found[0].releases == "0.25.0"


def test_a_release_without_any_concerns_nobody(matrix: Matrix) -> None:
    release = matrix.release("0.13.0")
    assert release is not None
    assert concerns(release, read_situation(HostReport(), matrix, Request()), matrix) == ()
