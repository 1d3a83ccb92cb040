"""Hosts that people really rent, and the answer each must get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.model.finding import Verdict

ALIYUN = {"cloud": {"provider": "aliyun", "region": "cn-hangzhou"}}
STOPPED = {"fabric": {"nvswitch": True, "manager": "stopped"}}


def test_a10_535_in_alibaba_cloud(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> None:
    plan = plan_for(host_of("NVIDIA A10", "8.6", "535.161.08", **ALIYUN)).plan
    assert (plan.stack.vllm, plan.stack.variant, plan.stack.cuda_major) == ("0.19.1", "", 12)  # the last CUDA 12 wheel on the index
    later = [(stack.vllm, stack.variant) for stack in plan.alternatives]
    assert later[0] == ("0.32.0", "cu129")  # the last release with any CUDA 12 wheel
    assert all(variant == "cu129" for _, variant in later)
    assert [mirror.url for mirror in plan.mirrors if mirror.kind == "python-index"] == ["https://mirrors.aliyun.com/pypi/simple"]


@pytest.mark.parametrize("driver", ["550.54.15", "580.65.06"])
def test_v100_gets_the_last_release_with_code_for_it(plan_for: Callable[..., Any], host_of: Callable[..., Any], driver: str) -> None:
    planned = plan_for(host_of("Tesla V100-SXM2-32GB", "7.0", driver))
    assert planned.plan.stack.vllm == "0.19.1"
    (clash,) = planned.plan.not_possible["0.20.0 – 0.33.0"]
    assert (clash.code, clash.present) == ("gpu-too-old", "7.0")  # no driver would help: wheels for CUDA 13 begin at 7.5
    assert planned.plan.alternatives == ()


def test_t4_470_is_blocked_for_the_index_and_told_of_both_ways_out(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> None:
    judgement, plan = plan_for(host_of("Tesla T4", "7.5", "470.161.03"))
    assert judgement.verdict is Verdict.BLOCKED
    assert judgement.findings[0].code == "driver-too-old-for-cuda"
    assert plan.stack is None
    assert (plan.ways_out[0].vllm, plan.ways_out[0].variant) == ("0.10.1.1", "cu118")
    opened = [remedy.note.params for remedy in judgement.findings[0].remedies if remedy.kind == "driver"]
    assert {"driver": "525.60.13", "vllm": "0.19.1"} in opened


def test_rtx_5090_570_gets_kernels_that_its_driver_can_run(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> None:
    judgement, plan = plan_for(host_of("NVIDIA GeForce RTX 5090", "12.0", "570.144"))
    assert plan.stack.vllm == "0.11.2"  # PTX 8.7 of CUDA 12.8; 0.14.1 to 0.19.1 hold PTX 8.8 of CUDA 12.9
    held = [finding for finding in judgement.findings if finding.code == "driver-too-old-for-ptx"]
    oldest, newest = held[0].evidence["releases"].split(" – ")
    assert newest == "0.19.1"
    assert oldest in ("0.12.0", "0.14.1")
    assert (held[0].evidence["needed"], held[0].evidence["present"]) == ("CUDA 12.9", "CUDA 12.8")


def test_h200_580_with_python_312_gets_the_newest(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> None:
    judgement, plan = plan_for(host_of("NVIDIA H200", "9.0", "580.95.05"))
    assert judgement.verdict is Verdict.READY
    assert (plan.stack.vllm, plan.stack.torch, plan.stack.python, plan.stack.new_python) == ("0.33.0", "2.14.0", "3.12", False)


def test_h200_580_with_python_310_gets_the_newest_for_it_and_is_told_of_newer(
    plan_for: Callable[..., Any], host_of: Callable[..., Any]
) -> None:
    _, plan = plan_for(host_of("NVIDIA H200", "9.0", "580.95.05", python="3.10.12"))
    assert (plan.stack.vllm, plan.stack.python, plan.stack.new_python) == ("0.31.0", "3.10", False)  # 0.32.0 and later ask for 3.11
    assert (plan.alternatives[0].vllm, plan.alternatives[0].new_python) == ("0.33.0", True)


def test_h20_with_its_fabric_down_is_blocked_for_that(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> None:
    host = host_of("NVIDIA H20", "9.0", "580.95.05", count=8, **STOPPED)
    judgement, plan = plan_for(host)
    assert judgement.verdict is Verdict.BLOCKED
    assert [finding.code for finding in judgement.findings if finding.severity.value == "error"] == ["fabric-manager-not-ready"]
    assert plan.stack.vllm == "0.33.0"  # what to install once the service runs
    running = plan_for({**host, "fabric": {"nvswitch": True, "manager": "running", "state": "completed"}})
    assert running.judgement.verdict is Verdict.READY


def test_a_jetson_board_is_planned_no_wheel_of_the_index(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> None:
    # the wheels for servers hold code of the board's compute capability, but are not made for its driver
    machine = {"os": {"name": "Ubuntu 22.04.5 LTS", "arch": "aarch64", "glibc": "2.35"}}
    judgement, plan = plan_for(host_of("Orin (nvgpu)", "8.7", "540.4.0", **machine))
    assert judgement.findings[0].code == "jetson-needs-special-build"
    assert (plan.stack, plan.ways_out, plan.install) == (None, (), ())
