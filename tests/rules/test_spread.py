"""How a request is spread over GPUs, as the rules on several GPUs read it."""

from __future__ import annotations

from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import Gpu, HostReport
from envcheck.model.request import Request
from envcheck.rules.places import address, where, wheres
from envcheck.rules.situation import Situation, read_situation
from envcheck.rules.spread import planned_gpus, release_of, spread_of, weights_gib


def situated(matrix: Matrix, count: int = 4, **request: Any) -> Situation:
    gpus = [Gpu(index=index, name="NVIDIA A10") for index in range(count)]
    return read_situation(HostReport(gpus=gpus), matrix, Request(**request))


@pytest.mark.parametrize(
    ("args", "ranks", "several"),
    [
        ({}, 1, None),
        ({"max_model_len": 4096}, 1, None),
        ({"tensor_parallel_size": 1}, 1, False),
        ({"tensor_parallel_size": 2, "pipeline_parallel_size": 3}, 6, True),
        ({"tensor_parallel_size": 2, "data_parallel_size": 4}, 8, True),
        ({"data_parallel_size": 8, "data_parallel_size_local": 2}, 2, True),
        ({"tensor_parallel_size": "many"}, 1, None),
        ({"tensor_parallel_size": -3, "pipeline_parallel_size": True}, 1, None),
    ],
)
def test_ranks_are_what_is_asked_for(matrix: Matrix, args: dict[str, Any], ranks: int, several: bool | None) -> None:
    spread = spread_of(situated(matrix, serve_args=args))
    assert (spread.ranks, spread.several) == (ranks, several)


@pytest.mark.parametrize(
    ("args", "one_host"),
    [
        ({"tensor_parallel_size": 2}, True),
        ({"tensor_parallel_size": 2, "nnodes": 1, "node_rank": 0}, True),
        ({"tensor_parallel_size": 2, "nnodes": 2}, False),
        ({"tensor_parallel_size": 2, "distributed_executor_backend": "ray"}, False),
        ({"tensor_parallel_size": 2, "distributed_executor_backend": "mp"}, True),
        ({"data_parallel_size": 2, "headless": True}, False),
    ],
)
def test_other_hosts_are_told_by_what_only_they_need(matrix: Matrix, args: dict[str, Any], one_host: bool) -> None:
    assert spread_of(situated(matrix, serve_args=args)).one_host is one_host


def test_the_ranks_take_the_first_gpus(matrix: Matrix) -> None:
    situation = situated(matrix, serve_args={"tensor_parallel_size": 2})
    assert [gpu.index for gpu in planned_gpus(situation, spread_of(situation))] == [0, 1]


def test_the_release_asked_about_comes_before_the_installed_one(matrix: Matrix) -> None:
    host = HostReport(packages={"vllm": "0.8.5"})
    installed = release_of(read_situation(host, matrix, Request()), matrix)
    asked = release_of(read_situation(host, matrix, Request(vllm="0.19.1")), matrix)
    assert (installed and installed.raw, asked and asked.raw) == ("0.8.5", "0.19.1")
    assert release_of(read_situation(HostReport(), matrix, Request()), matrix) is None


def test_measured_weights_are_of_one_gpu(matrix: Matrix) -> None:
    args = {"tensor_parallel_size": 4, "data_parallel_size": 2}
    assert weights_gib(situated(matrix, weights_gib=10.0, serve_args=args), matrix) == 40.0
    assert weights_gib(situated(matrix, weights_gib=float("inf")), matrix) is None


def test_gpus_are_named_once_and_not_all(matrix: Matrix) -> None:
    many = read_situation(HostReport(gpus=[Gpu(index=index, name="NVIDIA A10") for index in range(12)]), matrix, Request()).usable_gpus
    assert where(many[3]) == "GPU 3"
    assert wheres(many) == "GPU 0, GPU 1, GPU 2, GPU 3, GPU 4, GPU 5, GPU 6, GPU 7, …"
    assert wheres([many[0], many[0]]) == "GPU 0"


def test_an_address_is_the_same_in_both_spellings() -> None:
    assert address("00000000:3B:00.0") == address("0000:3b:00.0") == "0000:3b:00.0"
