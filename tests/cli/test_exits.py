"""The status of a plan: whether its commands lead to a server, which a broken environment does not hinder and a broken host does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
HOST: dict[str, Any] = {
    "schema": "envcheck.host/1",
    "os": {"name": "Ubuntu 22.04.5 LTS", "id": "ubuntu", "version": "22.04", "glibc": "2.35", "arch": "x86_64"},
    "python": {"version": "3.12.3"},
    "driver": {"version": "580.95.05", "nvml": "ok"},
    "gpus": [{"index": 0, "name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871}],
}
INSTALLED: dict[str, Any] = {"packages": {"vllm": "0.33.0"}, "torch": {"version": "2.14.0+cu130", "cuda": "13.0"}}
CPU_TORCH: dict[str, Any] = {"packages": {"torch": "2.10.0+cpu"}, "torch": {"version": "2.10.0+cpu", "cuda": None}}
FABRIC_DOWN: dict[str, Any] = {"fabric": {"nvswitch": True, "manager": "stopped"}}
NO_HEADERS: dict[str, Any] = {"python": {"version": "3.12.3", "headers": False}}
NO_COMPILER: dict[str, Any] = {"python": {"version": "3.12.3", "compiler": None}}


@pytest.fixture
def ask(envcheck: Run, tmp_path: Path) -> Callable[..., tuple[int, dict[str, Any]]]:
    """`ask(command, host parts, *words)`: status and JSON."""

    def call(command: str, more: dict[str, Any], *words: str) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "host.json"
        path.write_text(json.dumps({**HOST, **more}), encoding="utf-8")
        status, out, err = envcheck(command, "--host", str(path), "--json", *words)
        assert out, err
        return status, json.loads(out)

    return call


Ask = Callable[..., tuple[int, dict[str, Any]]]


def test_an_environment_that_is_blocked_is_led_round(ask: Ask) -> None:
    status, report = ask("check", CPU_TORCH)
    assert (status, report["verdict"], report["subject"]) == (1, "blocked", "environment")
    status, plan = ask("plan", CPU_TORCH)
    assert (status, plan["stack"]["vllm"]) == (0, "0.33.0")
    assert [recipe["tool"] for recipe in plan["install"]] == ["uv", "pip"]


@pytest.mark.parametrize(
    ("more", "words", "subject"),
    [
        (FABRIC_DOWN, [], "any"),
        (FABRIC_DOWN, ["--vllm", "0.33.0"], "requested"),
        ({**FABRIC_DOWN, **INSTALLED}, [], "installed"),
        ({**FABRIC_DOWN, **CPU_TORCH}, [], "any"),
        ({**NO_COMPILER, **INSTALLED}, [], "installed"),
    ],
    ids=str,
)
def test_a_host_to_be_repaired_first_is_1_whatever_the_verdict_is_about(
    ask: Ask, more: dict[str, Any], words: list[str], subject: str
) -> None:
    status, report = ask("check", more, *words)
    assert (status, report["verdict"], report["subject"]) == (1, "blocked", subject)
    status, plan = ask("plan", more, *words)
    assert (status, plan["stack"]["vllm"]) == (1, "0.33.0")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({**INSTALLED, "torch": {"version": "2.9.1+cu128", "cuda": "12.8"}}, []),  # not the torch that it is built for
        ({**INSTALLED, **NO_HEADERS}, []),  # uv brings an interpreter with headers
        ({"python": {"version": "3.9.18"}}, ["--vllm", "0.33.0"]),  # and one that the release takes
    ],
    ids=str,
)
def test_what_a_fresh_environment_cures_is_0(ask: Ask, more: dict[str, Any], words: list[str]) -> None:
    assert ask("check", more, *words)[0] == 1
    status, plan = ask("plan", more, *words)
    assert (status, plan["stack"]["vllm"]) == (0, "0.33.0")
    assert plan["install"]


def test_nothing_to_plan_is_1_and_a_fact_that_is_missing_3(ask: Ask) -> None:
    assert ask("plan", {"gpus": []})[0] == 1
    assert ask("plan", {"os": {}})[0] == 3
