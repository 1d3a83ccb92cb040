"""Hosts of each kind of trouble, and the ways that a person who knows the facts would name, in that order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envcheck.model.finding import Verdict
from envcheck.model.request import Pins
from envcheck.model.ways import Way

MATRICES = Path(__file__).parents[2] / "matrices"
LINUX = {"os": {"name": "Ubuntu 22.04.5 LTS", "id": "ubuntu", "version": "22.04", "arch": "x86_64", "glibc": "2.35"}}
CARDS = {
    "1080 Ti": ("NVIDIA GeForce GTX 1080 Ti", "6.1"),
    "K80": ("Tesla K80", "3.7"),
    "V100": ("Tesla V100-SXM2-16GB", "7.0"),
    "T4": ("Tesla T4", "7.5"),
    "A10": ("NVIDIA A10", "8.6"),
    "3090": ("NVIDIA GeForce RTX 3090", "8.6"),
    "4090": ("NVIDIA GeForce RTX 4090", "8.9"),
    "H20": ("NVIDIA H20", "9.0"),
}


def host(*cards: str, driver: str, python: str = "3.12.3", **more: Any) -> dict[str, Any]:
    """A host of Ubuntu 22.04 where nothing is installed."""
    named = [CARDS[card] for card in cards]
    gpus = [{"index": place, "name": name, "compute_capability": sm} for place, (name, sm) in enumerate(named)]
    made: dict[str, Any] = {
        **LINUX,
        "python": {"version": python},
        "driver": {"version": driver},
        "gpus": gpus,
        "packages": {},
        "torch": None,
    }
    return made | more


def release(way: Way) -> str:
    """What a way leads to: a wheel as pip would name it, or the release in an image."""
    if way.image:
        return way.image.release
    return "" if way.stack is None else f"{way.stack.vllm}+{way.stack.variant}" if way.stack.variant else way.stack.vllm


FABRIC: dict[str, Any] = {"fabric": {"nvswitch": True, "manager": "stopped"}}
# 0.32.0 is the last release with a wheel for CUDA 12 (+cu129), 0.31.0 the last for Python 3.10, 0.19.1 the last with code for a V100,
# 0.10.1.1+cu118 the last for a driver below 525; 0.33.0 is the newest and needs 580.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]]]] = {
    "an interpreter that the newest does not take": (
        host("3090", driver="580.95.05", python="3.10.12"),
        {},
        [("environment", "0.31.0"), ("interpreter", "0.33.0")],
    ),
    "the newest asked for, with that interpreter": (
        host("3090", driver="580.95.05", python="3.10.12"),
        {"vllm": "0.33.0"},
        [("interpreter", "0.33.0")],
    ),
    # GeForce cards take no forward compatibility, so neither an image nor the package is a way.
    "a consumer card under an old driver": (
        host("4090", driver="535.183.01"),
        {"vllm": "0.33.0"},
        [("driver", "0.33.0"), ("release", "0.32.0+cu129")],
    ),
    "the same, with a driver that is to stay": (
        host("4090", driver="535.183.01"),
        {"vllm": "0.33.0", "pins": Pins(driver=True)},
        [("release", "0.32.0+cu129"), ("driver", "0.33.0")],
    ),
    "a card that the release has no code for": (
        host("V100", driver="550.54.15"),
        {"vllm": "0.33.0"},
        [("release", "0.19.1")],
    ),
    "a driver older than CUDA 12": (
        host("T4", driver="470.161.03", python="3.10.12"),
        {},
        [("wheel", "0.10.1.1+cu118"), ("driver", "0.31.0")],
    ),
    "bfloat16 on a card without it": (
        host("V100", driver="580.95.05"),
        {"vllm": "0.19.1", "serve_args": {"dtype": "bfloat16"}},
        [("setting", "0.19.1")],
    ),
    "a fabric manager that does not run": (host(*["H20"] * 8, driver="580.95.05", **FABRIC), {}, [("service", "0.33.0")]),
    # A container sees the same fabric as its host.
    "that, and an old driver": (
        host(*["H20"] * 8, driver="535.183.01", **FABRIC),
        {"vllm": "0.33.0"},
        [("service", "0.33.0"), ("compat", "0.33.0"), ("driver", "0.33.0")],
    ),
    # No vLLM has code for cards before Volta; beside the driver of branch 470 only the +cu118 wheels run.
    "a card that nothing serves": (host("K80", driver="470.161.03", python="3.10.12"), {}, [("hardware", "0.10.1.1+cu118")]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_three_ways(plan_for: Any, name: str) -> None:
    document, request, expected = CASES[name]
    ways = plan_for(document, **request).plan.ways
    assert [(way.kind, release(way)) for way in ways[:3]][: len(expected)] == expected
    assert all(way.proof in (Verdict.READY, Verdict.READY_WITH_WARNINGS) for way in ways[:3])
    asked = request.get("vllm")
    for way in ways:
        assert way.why
        assert ("vllm" in way.breaks) == (asked is not None and not release(way).startswith(asked))


def test_of_mixed_cards_those_that_serve_are_chosen_by_their_place_on_the_bus(plan_for: Any) -> None:
    plan = plan_for(host("3090", "1080 Ti", "3090", driver="580.95.05"))
    first = plan.plan.ways[0]
    assert plan.judgement.verdict is Verdict.BLOCKED
    assert first.commands[0] == "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,2"
    assert [text.params for text in first.cost.lost if text.key == "way.lost.gpus"] == [{"count": 1}]
    assert (first.stack.vllm, first.proof) == ("0.33.0", Verdict.READY)


def test_the_smallest_hardware_is_the_oldest_generation_that_serves(plan_for: Any) -> None:
    first = plan_for(host("K80", driver="470.161.03", python="3.10.12")).plan.ways[0]
    assert first.title.params["capability"] == "7.0"
    assert first.after["gpus"][0]["compute_capability"] == "7.0"


def test_without_root_a_stopped_fabric_manager_leaves_an_image_no_way(plan_for: Any) -> None:
    document = host(*["H20"] * 8, driver="535.183.01", **FABRIC)
    assert all(not way.cost.root for way in plan_for(document, vllm="0.33.0", pins=Pins(root=False)).plan.ways)
    first = plan_for(document, vllm="0.33.0").plan.ways[0]
    assert first.image
    assert [step.note.key for step in first.first] == ["remedy.start-fabric-manager"]
    assert first.after["fabric.manager"] == "running"
    assert first.cost.root


INSTALLED: dict[str, Any] = {"packages": {"vllm": "0.19.1", "torch": "2.10.0"}, "torch": {"version": "2.10.0+cu128", "cuda": "12.8"}}


def test_what_is_installed_stays_where_only_the_host_is_at_fault(plan_for: Any) -> None:
    shadow: dict[str, Any] = {
        "libcuda": {"path": "/usr/local/cuda/compat/libcuda.so.1", "version": "520.61.05", "compat": True},
        "environment": {"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/opt/lib"},
    }
    plan = plan_for(host("A10", driver="535.183.01", **INSTALLED, **shadow)).plan
    first = plan.ways[0]
    assert (first.kind, first.proof in (Verdict.READY, Verdict.READY_WITH_WARNINGS)) == ("setting", True)
    assert first.after["environment.LD_LIBRARY_PATH"] == "/opt/lib"
    assert (plan.stack.vllm, plan.install, first.cost.download_mib) == ("0.19.1", (), 0)


def test_an_installation_that_goes_against_a_wish_is_not_the_plan(plan_for: Any) -> None:
    document = host("4090", driver="580.95.05", **INSTALLED)
    assert plan_for(document).plan.install == ()
    plan = plan_for(document, pins=Pins(torch="2.8.0")).plan
    assert plan.stack.torch == "2.8.0"
    assert plan.install


def test_a_build_of_torch_without_cuda_means_a_fresh_environment(plan_for: Any) -> None:
    cpu = {**INSTALLED, "torch": {"version": "2.10.0+cpu", "cuda": None}}
    ways = plan_for(host("4090", driver="580.95.05", **cpu)).plan.ways
    fresh = next(way for way in ways if way.kind == "environment")
    assert (fresh.stack.vllm, fresh.after["torch"]) == ("0.19.1", None)


def test_the_driver_under_wsl_is_that_of_windows(plan_for: Any) -> None:
    document = host("4090", driver="535.183.01")
    document["os"] = {**document["os"], "wsl": True}
    first = plan_for(document, vllm="0.33.0").plan.ways[0]
    assert (first.kind, first.title.key, first.commands, first.cost.root) == ("driver", "way.driver.wsl", (), False)


def test_the_download_is_at_least_the_two_large_wheels(plan_for: Any) -> None:
    first = plan_for(host("4090", driver="580.95.05")).plan.ways[0]
    (record,) = [one for one in json.loads((MATRICES / "vllm" / "0.33.json").read_text()) if one["version"] == "0.33.0"]
    wheel = next(build["size_mib"] for build in record["builds"] if build["arch"] == "x86_64" and not build.get("variant"))
    torch = next(one for one in json.loads((MATRICES / "torch.json").read_text()) if f"=={one['version']}" == record["requires"]["torch"])
    assert (first.cost.download_mib, first.cost.download_more) == (wheel + torch["size_mib"]["x86_64"], True)
