"""What other checkers of vLLM environments answer wrongly: releases, GPUs, CUDA, C libraries."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.cli.main import main

Facts = dict[str, Any]
Ask = Callable[..., tuple[int, Any]]
Host = Callable[..., Facts]

VENDORED = Path(__file__).parents[2] / "matrices" / "vllm"
V100 = {"index": 0, "name": "Tesla V100-SXM2-32GB", "compute_capability": "7.0", "memory_mib": 32768}
T4 = {"index": 0, "name": "Tesla T4", "compute_capability": "7.5", "memory_mib": 15360}


def commands(plan: Any) -> list[str]:
    return [step["command"] for recipe in plan["install"] for step in recipe["steps"]]


def codes(answer: Any) -> list[str]:
    return [finding["code"] for finding in answer["findings"] if finding["severity"] != "info"]


# --- The GPU is left out: a V100 is told to install wheels for CUDA 13, which hold no code for it. ---


@pytest.mark.parametrize("branch", ["550.144.03", "570.195.03", "580.95.05"])
def test_a_v100_is_planned_without_cuda_13(ask: Ask, host: Host, branch: str) -> None:
    status, plan = ask("plan", host(gpus=[V100], driver=branch))
    assert status == 0
    assert plan["stack"]["vllm"] == "0.19.1"
    assert plan["stack"]["cuda_major"] == 12
    assert not any("cu13" in command for command in commands(plan))


def test_a_v100_cannot_have_the_newest_release(ask: Ask, host: Host) -> None:
    status, answer = ask("check", host(gpus=[V100]), "--vllm", "0.30.0")
    assert (status, answer["verdict"]) == (1, "blocked")
    assert answer["findings"][0]["code"] == "gpu-too-old"


@pytest.mark.parametrize("branch", ["535.161.08", "580.95.05"])
def test_a_gtx_1080_ti_is_not_offered_a_wheel(ask: Ask, host: Host, branch: str) -> None:
    """An installer that goes by the driver alone takes the newest CUDA for it."""
    card = {"index": 0, "name": "NVIDIA GeForce GTX 1080 Ti", "compute_capability": "6.1", "memory_mib": 11264}
    status, plan = ask("plan", host(gpus=[card], driver=branch))
    assert status == 1
    assert plan["stack"] is None
    assert commands(plan) == []


# --- A pinned release is answered with another one. ---


@pytest.mark.parametrize("release", ["0.9.2", "0.8.5.post1", "0.6.3.post1", "0.16.0"])
def test_the_release_asked_for_is_the_one_planned(ask: Ask, host: Host, release: str) -> None:
    status, plan = ask("plan", host(driver="535.161.08"), "--vllm", release)
    assert status == 0
    assert plan["stack"]["vllm"] == release
    assert any(f"vllm=={release}" in command.split() for command in commands(plan))
    assert not any(re.search(r"vllm==0\.[23]\d", command) for command in commands(plan))


def test_a_release_that_is_none_is_not_replaced(host: Host, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "host.json"
    path.write_text(json.dumps(host()), encoding="utf-8")
    assert main(["plan", "--host", str(path), "--vllm", "0.9.3"]) == 2
    assert b"0.9.3" in capfdbinary.readouterr().err


# --- An image for CUDA 12.4 with a wheel for CUDA 13 in it passes. ---

IMAGE = {"kind": "docker", "image": "nvidia/cuda:12.4.1-runtime-ubuntu22.04", "environment": {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}}
IN_THE_IMAGE = ("0.30.0", "2.13.0+cu130")


def test_a_wheel_for_cuda_13_is_blocked_where_the_image_suggests_a_driver_for_cuda_12(ask: Ask, host: Host, installed: Host) -> None:
    status, answer = ask("check", host(container=IMAGE, driver="550.54.14", **installed(*IN_THE_IMAGE)))
    assert (status, answer["verdict"]) == (1, "blocked")
    assert answer["findings"][0]["code"] == "driver-too-old-for-cuda"
    assert answer["binding"]["needed"] == "580"


def test_without_a_driver_to_judge_by_the_image_is_not_called_ready(ask: Ask, host: Host, installed: Host) -> None:
    facts = host(container=IMAGE, **installed(*IN_THE_IMAGE))
    del facts["driver"], facts["gpus"]
    status, answer = ask("check", facts)
    assert status in (1, 3)
    assert answer["verdict"] in ("blocked", "unknown")


def test_on_a_driver_for_cuda_13_the_same_image_runs(ask: Ask, host: Host, installed: Host) -> None:
    """The wheels bring their own libraries: the image's toolkit decides nothing."""
    status, answer = ask("check", host(container=IMAGE, **installed(*IN_THE_IMAGE)))
    assert (status, answer["verdict"]) == (0, "ready")


# --- Only the driver's major number is compared. ---


@pytest.mark.parametrize(("version", "verdict"), [("525.60.12", "blocked"), ("525.60.13", "ready"), ("525.147.05", "ready")])
def test_the_floor_of_cuda_12_is_exact(ask: Ask, host: Host, version: str, verdict: str) -> None:
    card = {"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}
    _, answer = ask("check", host(driver=version, gpus=[card]), "--vllm", "0.19.1")
    assert answer["verdict"] == verdict


# --- A driver for CUDA 11 is only told to be replaced, though wheels for it exist. ---


@pytest.mark.parametrize("card", [V100, T4])
def test_a_driver_of_branch_470_has_a_way_without_root(ask: Ask, host: Host, card: Facts) -> None:
    status, plan = ask("plan", host(driver="470.161.03", gpus=[card]))
    assert status == 1
    assert [(way["vllm"], way["variant"]) for way in plan["ways_out"]] == [("0.10.1.1", "cu118")]
    remedies = plan["findings"][0]["remedies"]
    assert [way["kind"] for way in remedies][:2] == ["other-wheel", "driver"]
    assert "0.10.1.1+cu118" in remedies[0]["note"]
    assert "525.60.13" in remedies[1]["note"]
    assert "0.19.1" in remedies[1]["note"]


# --- Tags of wheels are believed. ---


def test_a_tag_that_promises_too_much_is_not_believed(ask: Ask, host: Host) -> None:
    """0.20.0+cu129 is tagged for glibc 2.31, and its binaries ask for 2.34."""
    old = {"name": "Ubuntu 20.04.6 LTS", "version": "20.04", "glibc": "2.31"}
    status, answer = ask("check", host(os=old), "--vllm", "0.20.0+cu129")
    assert (status, answer["verdict"]) == (1, "blocked")
    first = answer["findings"][0]
    assert first["code"] == "glibc-too-old"
    assert (first["evidence"]["needed"], first["evidence"]["present"]) == ("2.34", "2.31")


def test_a_tag_that_promises_too_little_is_what_the_installer_goes_by(ask: Ask, host: Host) -> None:
    """0.20.0 runs with glibc 2.34, and pip refuses it there for its tag says 2.35."""
    rhel = {"name": "Rocky Linux 9.4", "id": "rocky", "version": "9.4", "arch": "x86_64", "glibc": "2.34", "wsl": False}
    status, answer = ask("check", host(os=rhel), "--vllm", "0.20.0")
    assert status == 1
    assert answer["findings"][0]["code"] == "no-wheel-for-platform"


# --- Tables that stop early or late. ---


@pytest.mark.parametrize(
    ("name", "capability"),
    [("NVIDIA GB10", "12.1"), ("NVIDIA Thor", "11.0"), ("NVIDIA GB300", "10.3"), ("NVIDIA GeForce RTX 5090", "12.0")],
)
def test_new_architectures_are_known(ask: Ask, host: Host, name: str, capability: str) -> None:
    arch = "x86_64" if "GeForce" in name else "aarch64"
    card = {"index": 0, "name": name, "compute_capability": capability}
    facts = host(gpus=[card], os={"name": "Ubuntu 24.04.3 LTS", "arch": arch, "glibc": "2.39"})
    status, answer = ask("check", facts, "--vllm", "0.33.0")
    assert (status, answer["verdict"] in ("ready", "ready-with-warnings")) == (0, True), codes(answer)


@pytest.mark.parametrize(("python", "release", "status"), [("3.13.5", "0.11.0", 0), ("3.14.0", "0.33.0", 0), ("3.10.12", "0.33.0", 1)])
def test_pythons_are_those_of_the_wheels(ask: Ask, host: Host, python: str, release: str, status: int) -> None:
    got, answer = ask("check", host(python={"version": python}), "--vllm", release)
    assert got == status, codes(answer)


def test_the_newest_release_is_planned_where_it_runs(ask: Ask, host: Host) -> None:
    versions = [record["version"] for path in VENDORED.glob("*.json") for record in json.loads(path.read_text(encoding="utf-8"))]
    newest = max(versions, key=lambda text: tuple(map(int, re.findall(r"\d+", text))))
    _, plan = ask("plan", host())
    assert plan["stack"]["vllm"] == newest


# --- The checker itself needs what is not installed yet. ---


def test_neither_vllm_nor_torch_is_imported(ask: Ask, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vllm", "torch"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    status, answer = ask("check", host(), "--vllm", "0.33.0")
    assert status == 0
    assert answer["verdict"] == "ready"
    assert not {"vllm", "torch"} & sys.modules.keys()
