"""Kernels that would be compiled at the first start, on a host without an nvcc that can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.plan import Plan
from envcheck.model.request import Request
from envcheck.planning.plan import make_plan
from envcheck.rules.check import judge

HostOf = Callable[..., dict[str, Any]]
H200 = ("NVIDIA H200", "9.0", "580.95.05")
SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"
NVCC = {"toolkits": [{"version": "13.0.48", "path": "/usr/local/cuda-13.0", "selected_by": ["/usr/local/cuda"]}]}
OLD_NVCC = {"toolkits": [{"version": "12.1.105", "path": "/usr/local/cuda-12.1", "selected_by": ["/usr/local/cuda"]}]}
NO_NVCC: dict[str, Any] = {"toolkits": None, "tools": {"nvcc": None}}
PLAIN: dict[str, Any] = {"model_type": "qwen3"}
BLOCKS = {"model_type": "qwen3", "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


@pytest.fixture
def served(matrix: Matrix, host_of: HostOf) -> Callable[..., Plan]:
    """`served(host parts, vllm=…, config=…)` is the plan that serves a model on an H200; `config` None = that serves none."""

    def plan(more: dict[str, Any], vllm: str | None = None, config: dict[str, Any] | None = PLAIN) -> Plan:
        asked = Request(vllm=vllm, model_config=config)
        judgement = judge(msgspec.convert({**host_of(*H200), **more}, HostReport), matrix, asked)
        spec = ModelSpec("m", config, ModelSource("request", "model_config")) if config is not None else None
        return make_plan(judgement, matrix, asked, spec=spec)

    return plan


def variables(plan: Plan) -> dict[str, str | None]:
    assert plan.serve is not None
    return {setting.flag: setting.value for setting in plan.serve.environment}


def kernel_notes(plan: Plan) -> list[str]:
    return [note.key for note in plan.notes if note.key.endswith("-kernel")]


def test_without_nvcc_the_server_is_started_without_the_sampler_s_kernels(served: Callable[..., Plan]) -> None:
    plan = served(NO_NVCC)
    assert variables(plan) == {SAMPLER: "0"}
    assert plan.serve is not None
    assert plan.serve.environment[0].why.params == {"vllm": "0.33.0", "package": "flashinfer-python", "kernel": "flashinfer-sampler"}
    assert kernel_notes(plan) == []


@pytest.mark.parametrize("more", [NVCC, {"toolkits": None, "tools": {"nvcc": "/usr/bin/nvcc"}}, {}])
def test_with_nvcc_or_where_that_is_not_known_nothing_is_set(served: Callable[..., Plan], more: dict[str, Any]) -> None:
    plan = served(more)
    assert variables(plan) == {}
    assert kernel_notes(plan) == []
    assert kernel_notes(served(more, config=None)) == []


@pytest.mark.parametrize(("vllm", "expected"), [("0.20.2", {}), ("0.21.0", {SAMPLER: "0"})])
def test_it_is_the_planned_release_that_counts(served: Callable[..., Plan], vllm: str, expected: dict[str, str]) -> None:
    assert variables(served(NO_NVCC, vllm)) == expected  # on by default from 0.21.0 on


def test_a_model_in_blocks_of_fp8_has_kernels_of_its_own(served: Callable[..., Plan]) -> None:
    assert variables(served(NO_NVCC, config=BLOCKS)) == {SAMPLER: "0", "VLLM_USE_DEEP_GEMM": "0"}
    # for compute capability 9.0 DeepGEMM takes CUDA 12.3 or newer
    assert variables(served(OLD_NVCC, config=BLOCKS)) == {"VLLM_USE_DEEP_GEMM": "0"}


def test_what_is_set_already_is_not_set_again(served: Callable[..., Plan]) -> None:
    assert variables(served({**NO_NVCC, "environment": {SAMPLER: "0"}})) == {}


def test_what_is_installed_and_brings_them_compiled_is_served_with_them(served: Callable[..., Plan]) -> None:
    installed = {"packages": {"vllm": "0.33.0", "flashinfer-python": "0.6.15"}, "torch": {"version": "2.14.0+cu130", "cuda": "13.0"}}
    assert variables(served({**NO_NVCC, **installed})) == {SAMPLER: "0"}
    compiled = {**installed, "packages": {**installed["packages"], "flashinfer-jit-cache": "0.6.15"}}
    assert variables(served({**NO_NVCC, **compiled})) == {}
    # into a fresh environment, what this one brings does not come along
    assert variables(served({**NO_NVCC, **compiled, "torch": {"version": "2.14.0+cpu", "cuda": None}})) == {SAMPLER: "0"}


def test_without_a_model_a_note_says_what_to_type(served: Callable[..., Plan]) -> None:
    plan = served(NO_NVCC, config=None)
    (note,) = [note for note in plan.notes if note.key.endswith("-kernel")]
    assert (note.key, note.params["command"]) == ("plan.note.without-kernel", f"export {SAMPLER}=0")


def test_a_finding_that_says_it_needs_no_note(served: Callable[..., Plan]) -> None:
    plan = served(NO_NVCC, "0.33.0", config=None)
    assert "nvcc-missing-for-jit" in [finding.code for finding in plan.findings]
    assert kernel_notes(plan) == []


def test_kernels_that_the_environment_asks_for_are_a_matter_of_unsetting_it(served: Callable[..., Plan]) -> None:
    ampere = {"gpus": [{"name": "NVIDIA A10", "compute_capability": "8.6"}], "driver": {"version": "535.161.08", "nvml": "ok"}}
    plan = served({**NO_NVCC, **ampere, "environment": {SAMPLER: "1"}})
    assert plan.stack is not None
    assert plan.stack.vllm == "0.19.1"  # off there unless asked for
    assert variables(plan) == {}
    (note,) = [note for note in plan.notes if note.key.endswith("-kernel")]
    assert (note.key, note.params["command"]) == ("plan.note.unset-kernel", f"unset {SAMPLER}")
