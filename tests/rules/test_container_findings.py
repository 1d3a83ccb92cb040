"""What an image's own libcuda changes about its wheel, and what an observation settles."""

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.rules.check import Judgement

Ask = Callable[..., Judgement]
OLD = {"driver": {"version": "550.54.15"}}
GEFORCE = {"gpus": [{"name": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9"}]}


def errors(judgement: Judgement) -> list[str]:
    return [finding.code for finding in judgement.findings if finding.severity.value == "error"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # CUDA 13 on branch 550: forward compatibility serves an A100, and only where it is used
        ({"container": {"image": "vllm/vllm-openai:v0.20.0"}}, ["driver-too-old-for-cuda"]),
        ({"container": {"image": "vllm/vllm-openai:v0.20.0"}, "environment": {"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"}}, []),
        ({"container": {"image": "nvcr.io/nvidia/pytorch:25.08-py3"}}, []),
        ({"container": {"image": "nvcr.io/nvidia/pytorch:25.08-py3"}, **GEFORCE}, ["driver-too-old-for-cuda"]),
        ({"container": {"image": "vllm/vllm-openai:latest"}}, []),  # of no release known
        ({"container": {"image": "vllm/vllm-openai:v0.19.1"}}, []),  # CUDA 12.9: branch 550 passes the gate and runs it
    ],
)
def test_an_images_own_libcuda_may_stand_in_for_an_old_driver(ask: Ask, facts: dict[str, Any], expected: list[str]) -> None:
    assert errors(ask("a100", {**OLD, **facts})) == expected


def test_the_libc_of_the_host_is_not_that_of_the_image(ask: Ask) -> None:
    facts = {"os.glibc": "2.17", "python.version": "3.6.8", "container": {"image": "vllm/vllm-openai:v0.19.1"}}
    assert errors(ask("a100", facts)) == []


@pytest.mark.parametrize(
    "facts",
    [
        {"libcuda": {"path": "/usr/lib/libcuda.so.1", "version": "550.54.15", "compat": False}},
        {"libcuda": {"path": None}},
        {"environment": {"LD_LIBRARY_PATH": "/usr/local/cuda-12.8/compat"}},
        {"os.wsl": True, "libcuda": {"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}},
        {"environment": {"CUDA_VISIBLE_DEVICES": ""}},
        {"container": {"kind": "docker", "devices": ["/dev/nvidia0", "/dev/nvidiactl"]}},
    ],
)
def test_a_torch_that_was_seen_to_work_settles_it(ask: Ask, facts: dict[str, Any]) -> None:
    assert errors(ask("installed", facts)) != []
    assert errors(ask("installed", {**facts, "observed": {"torch_cuda": True}})) == []


def test_what_keeps_the_driver_out_is_said_once(ask: Ask) -> None:
    facts = {"kernel_modules.nvidia_on_disk": "580.95.05", "secure_boot": True}
    findings = ask("unseen", facts).findings
    assert findings[0].code == "secure-boot-blocks-module"
    assert "driver-not-loaded" in [finding.code for finding in findings[0].consequences]


@pytest.mark.parametrize("facts", [{"secure_boot": True}, {"kernel_modules": {"nvidia_on_disk": "580.95.05"}}, {"os.kernel": "6.8.0-85"}])
def test_a_working_driver_is_not_doubted(ask: Ask, facts: dict[str, Any]) -> None:
    assert [finding.code for finding in ask("installed", facts).findings if finding.severity.value != "info"] == []


def test_commands_are_those_of_the_distribution(ask: Ask) -> None:
    def commands(name: str) -> tuple[str, ...]:
        return tuple(line for way in ask("unseen", {"os.name": name}).findings[0].remedies for line in way.commands)

    assert any(line.startswith("sudo apt-get install") for line in commands("Ubuntu 24.04.1 LTS"))
    assert any(line.startswith("sudo dnf module enable") for line in commands("Rocky Linux 9.4"))
    assert commands("Some Linux 1.0") == ()


def test_commands_to_install_a_driver_are_not_for_a_container(ask: Ask) -> None:
    found = ask("unseen", {"container": {"kind": "docker"}}).findings
    assert not any(line for finding in found for way in finding.remedies for line in way.commands)


GH200 = {"os.arch": "aarch64", "gpus.0": {"index": 0, "name": "NVIDIA GH200 480GB", "compute_capability": "9.0"}}


@pytest.mark.parametrize(
    ("image", "facts", "instead"),
    [
        # the last release that has the label asked for, then the release asked for without it
        ("v0.33.0-cu129", {}, ["v0.32.0-cu129", "v0.33.0"]),
        ("v0.33.0-ubuntu2404", {}, ["v0.33.0"]),
        # the first release with an image for the machine, and the same release under the tag that serves every machine
        ("v0.9.2", GH200, ["v0.10.2"]),
        ("v0.26.0-x86_64-cu129", GH200, ["v0.26.0-cu129"]),
    ],
)
def test_an_image_that_cannot_be_had_leads_to_one_that_can(ask: Ask, image: str, facts: dict[str, Any], instead: list[str]) -> None:
    asked = {"driver": {"version": "580.95.05"}, "container": {"image": f"vllm/vllm-openai:{image}"}, **facts}
    first = ask("a100", asked).findings[0]
    assert [way.commands for way in first.remedies] == [(f"docker pull vllm/vllm-openai:{tag}",) for tag in instead]
    asked["container"]["kind"] = "docker"
    assert [way.commands for way in ask("a100", asked).findings[0].remedies] == [()] * len(instead)


def test_the_gate_is_asked_before_the_images_own_libcuda_is_loaded(ask: Ask) -> None:
    """Branch 545 is on no list of the CUDA 13 base image, so that no libcuda of the image comes to help."""
    container = {"image": "vllm/vllm-openai:v0.33.0", "environment": {"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"}}
    assert errors(ask("a100", {"driver": {"version": "545.23.08"}, "container": container}))[0] == "container-requires-newer-cuda"
    assert errors(ask("a100", {"driver": {"version": "535.183.01"}, "container": container})) == []
