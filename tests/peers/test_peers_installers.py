"""What installers of vLLM environments get wrong: torch of another CUDA, wheels that do not exist, one server for all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

Facts = dict[str, Any]
Ask = Callable[..., tuple[int, Any]]
Host = Callable[..., Facts]

VENDORED = Path(__file__).parents[2] / "matrices" / "vllm"


def commands(plan: Any) -> list[str]:
    return [step["command"] for recipe in plan["install"] for step in recipe["steps"]]


# --- The installer's backend chooses torch alone, so vLLM and torch are of two CUDA majors. ---


@pytest.mark.parametrize(("vllm", "torch", "needs"), [("0.17.0", "2.10.0+cu130", 12), ("0.22.0", "2.11.0+cu129", 13)])
def test_vllm_and_torch_of_two_cuda_majors(ask: Ask, host: Host, installed: Host, vllm: str, torch: str, needs: int) -> None:
    status, answer = ask("check", host(driver="591.59", **installed(vllm, torch)))
    assert (status, answer["verdict"]) == (1, "blocked")
    first = answer["findings"][0]
    assert first["code"] == "cuda-major-mismatch"
    assert str(needs) in first["detail"]


CASES: list[tuple[str, str, str, str, str, str]] = [
    ("NVIDIA A100-SXM4-80GB", "8.0", "470.161.03", "2.31", "x86_64", "aliyun"),
    ("NVIDIA A100-SXM4-80GB", "8.0", "535.161.08", "2.35", "x86_64", "aliyun"),
    ("NVIDIA A100-SXM4-80GB", "8.0", "580.95.05", "2.28", "x86_64", "tencent"),
    ("Tesla V100-SXM2-32GB", "7.0", "580.95.05", "2.35", "x86_64", "aliyun"),
    ("Tesla T4", "7.5", "535.161.08", "2.17", "x86_64", "huawei"),
    ("NVIDIA GeForce RTX 5090", "12.0", "570.144", "2.39", "x86_64", "aws"),
    ("NVIDIA H200", "9.0", "580.95.05", "2.39", "x86_64", "gcp"),
    ("NVIDIA GH200 480GB", "9.0", "570.144", "2.35", "aarch64", "azure"),
    ("NVIDIA GB10", "12.1", "580.95.05", "2.39", "aarch64", "aws"),
]


@pytest.fixture
def hosts(host: Host) -> list[Facts]:
    """Hosts of every kind."""
    return [
        host(
            gpus=[{"index": 0, "name": name, "compute_capability": capability}],
            driver=version,
            os={"glibc": glibc, "arch": arch},
            cloud={"provider": cloud},
        )
        for name, capability, version, glibc, arch, cloud in CASES
    ]


def versions() -> list[str]:
    files = sorted(VENDORED.glob("*.json"))
    return [record["version"] for path in files for record in json.loads(path.read_text(encoding="utf-8")) if record["builds"]]


def test_no_plan_names_a_wheel_that_was_never_published(hosts: list[Facts], batch: Callable[[list[Facts]], list[Facts]]) -> None:
    """There is no +cu128 of vLLM; an address made from a template leads nowhere."""
    asked = [{"host": one, "request": {"vllm": version}, "want": ["plan"]} for one, version in product(hosts, versions())]
    asked += [{"host": one, "want": ["plan"]} for one in hosts]
    urls = {
        build["url"]
        for path in VENDORED.glob("*.json")
        for record in json.loads(path.read_text(encoding="utf-8"))
        for build in record["builds"]
        if "url" in build
    }
    assert len(urls) > 100
    assert not any("+cu128" in url for url in urls)
    planned, addresses = 0, set()
    for answer in batch(asked):
        text = json.dumps(answer)
        assert not re.search(r"vllm[^\s\"']*\+cu128|wheels\.vllm\.ai/[^\s\"']*cu128", text)
        planned += answer["plan"]["stack"] is not None
        addresses |= set(re.findall(r"https://github\.com/vllm-project/vllm/releases/download/[^\s\"'\\]+", text))
    assert planned > 200
    offered = {url.replace("{python}", f"cp3{minor}") for url in urls for minor in range(8, 15)}
    assert {address.replace("%2B", "+") for address in addresses} <= offered
    assert any("+cu129" in address for address in addresses)


def test_no_plan_lets_the_installer_choose_torch_by_the_driver(hosts: list[Facts], batch: Callable[[list[Facts]], list[Facts]]) -> None:
    """`auto` knows no GPU and no vLLM build, and asks one server whatever mirror is set."""
    asked = [{"host": one, "want": ["plan"]} for one in hosts]
    asked += [{"host": one, "request": {"vllm": version}, "want": ["plan"]} for one in hosts for version in ("0.11.0", "0.19.1", "0.33.0")]
    told = batch(asked)
    assert any(commands(answer["plan"]) for answer in told)
    for answer in told:
        assert not any(re.search(r"torch-backend[= ]auto|UV_TORCH_BACKEND=auto", command) for command in commands(answer["plan"]))


def test_in_a_cloud_of_mainland_china_the_index_is_a_mirror_there(ask: Ask, host: Host) -> None:
    status, plan = ask("plan", host(cloud={"provider": "aliyun", "region": "cn-hangzhou"}, driver="535.161.08"))
    assert status == 0
    assert any("mirrors.aliyun.com" in json.dumps(part) for part in (plan["mirrors"], commands(plan)))
    assert not any("download.pytorch.org" in command for command in commands(plan))
