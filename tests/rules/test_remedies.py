"""Ways out that run: what a remedy names must be judged to run on the very host it is given for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.model.finding import Finding, Remedy, Severity, Verdict
from envcheck.rules.check import Judgement

Ask = Callable[..., Judgement]
Facts = dict[str, Any]


def gpu(index: int, name: str, capability: str, memory_mib: int = 24576) -> Facts:
    return {"index": index, "name": name, "compute_capability": capability, "memory_mib": memory_mib}


OLD_AND_NEW = {"gpus": [gpu(0, "NVIDIA GeForce RTX 3090", "8.6"), gpu(1, "NVIDIA GeForce GTX 1080 Ti", "6.1", 11264)]}
OLD_FIRST = {"gpus": [gpu(0, "NVIDIA GeForce GTX 1080 Ti", "6.1", 11264), gpu(1, "NVIDIA GeForce RTX 3090", "8.6")]}
VOLTA = {"gpus": [gpu(0, "Tesla V100-SXM2-32GB", "7.0", 32768)]}
H100 = {"gpus": [gpu(0, "NVIDIA H100 80GB HBM3", "9.0", 81559)]}
ARM_A100 = {"os.arch": "aarch64"}  # the aarch64 wheels hold code for 8.0 from 0.20.0 on, and these ask for driver 580 on the index
ROCKY_8 = {"os.glibc": "2.28"}


def driver(version: str) -> Facts:
    return {"driver.version": version, "driver.library_version": version}


def found(judgement: Judgement, code: str) -> Finding:
    return next(finding for finding in judgement.findings if finding.code == code)


def ways(judgement: Judgement, code: str) -> list[tuple[str, object]]:
    return [(way.note.key, way.note.params.get("vllm")) for way in found(judgement, code).remedies]


@pytest.mark.parametrize(("facts", "index"), [(OLD_AND_NEW, "0"), (OLD_FIRST, "1")])
def test_a_card_too_old_beside_one_that_runs_is_hidden(ask: Ask, facts: Facts, index: str) -> None:
    judgement = ask("a100", facts)
    assert judgement.verdict is Verdict.BLOCKED
    root = judgement.findings[0]
    (explained,) = [inner for inner in root.consequences if inner.code == "gpu-too-old"]
    (hide,), (way,) = root.remedies, explained.remedies
    assert (root.code, hide.commands) == ("mixed-gpus", way.commands)
    assert (way.kind, way.note.params) == ("setting", {"vllm": "0.33.0", "name": "NVIDIA GeForce RTX 3090"})
    assert way.commands == (f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={index}",)
    assert ask("a100", {**facts, "environment": {"CUDA_VISIBLE_DEVICES": index}}).verdict is Verdict.READY


def test_unlike_cards_are_told_apart_by_index(ask: Ask) -> None:
    cards = [gpu(0, "NVIDIA L40S", "8.9", 46068), gpu(1, "NVIDIA A100 80GB PCIe", "8.0", 81920), gpu(2, "NVIDIA L40S", "8.9", 46068)]
    ways_out = found(ask("a100", {"gpus": cards}), "mixed-gpus").remedies
    chosen = [(way.note.params["name"], way.commands[0].rpartition("=")[2]) for way in ways_out]
    assert chosen == [("NVIDIA L40S", "0,2"), ("NVIDIA A100 80GB PCIe", "1")]


def test_a_card_that_no_release_serves_is_not_the_one_to_leave_visible(ask: Ask) -> None:
    assert [way.note.params["name"] for way in found(ask("a100", OLD_FIRST), "mixed-gpus").remedies] == ["NVIDIA GeForce RTX 3090"]


def test_a_wheel_of_the_release_page_is_named_before_another_gpu(ask: Ask) -> None:
    judgement = ask("a100", {**ARM_A100, **driver("550.144.03")})
    # the index's newest wheels lack only the driver, those that the driver runs lack code for the GPU
    assert judgement.findings[0].code == "driver-too-old-for-cuda"
    assert ways(judgement, "driver-too-old-for-cuda") == [("remedy.variant", "0.32.0+cu129"), ("remedy.upgrade-driver-opens", "0.33.0")]
    asked = ask("a100", {**ARM_A100, **driver("550.144.03")}, vllm="0.19.1")
    assert ways(asked, "gpu-too-old") == [("remedy.variant", "0.32.0+cu129")]
    assert ask("a100", {**ARM_A100, **driver("550.144.03")}, vllm="0.32.0+cu129").verdict is Verdict.READY


def test_another_gpu_is_the_way_out_only_where_nothing_else_is(ask: Ask) -> None:
    pascal = {"gpus": [gpu(0, "Tesla P40", "6.1")]}
    assert ways(ask("a100", {**pascal, **driver("550.144.03")}), "gpu-too-old") == [("remedy.other-gpu", None)]


def test_a_newer_driver_is_not_asked_for_beyond_the_last_that_serves_the_gpu(ask: Ask) -> None:
    judgement = ask("a100", {**VOLTA, **driver("470.161.03")})
    (way,) = [way for way in found(judgement, "driver-too-old-for-cuda").remedies if way.kind == "driver"]
    assert way.note.params == {"driver": "525.60.13", "last": 580, "vllm": "0.19.1"}
    ampere: Remedy = found(ask("a100", driver("470.161.03")), "driver-too-old-for-cuda").remedies[-1]
    assert "last" not in ampere.note.params


def test_a_wheel_of_the_release_page_older_than_what_runs_is_no_way_out(ask: Ask) -> None:
    # 0.11.2+cu129 would run on Volta too, but so does the newer 0.19.1 of the index
    judgement = ask("a100", {**VOLTA, **driver("550.144.03")}, vllm="0.20.0")
    assert ways(judgement, "driver-too-old-for-cuda") == [("remedy.release", "0.19.1")]


def test_the_wheel_that_lacks_a_part_is_not_its_own_way_out(ask: Ask) -> None:
    # the mixture-of-experts kernels of 0.11.2 need glibc 2.29; 0.32.0+cu129 needs 2.28 throughout
    judgement = ask("a100", {**ROCKY_8, **driver("550.144.03")})
    assert judgement.release is not None
    assert judgement.release.raw == "0.11.2"
    assert ways(judgement, "glibc-too-old") == [("remedy.variant", "0.32.0+cu129"), ("remedy.use-image", None)]


COMPAT = {"libcuda": {"path": "/usr/local/cuda/compat/libcuda.so.1", "version": "580.82.07", "compat": True}}
CUDA_13 = {"packages": {"vllm": "0.33.0"}, "torch": {"version": "2.14.0+cu130", "cuda": "13.0"}}


def test_a_forward_compatibility_libcuda_in_use_counts_as_the_driver(ask: Ask) -> None:
    older = {**H100, **driver("535.183.06"), **CUDA_13}
    assert ask("installed", older).verdict is Verdict.BLOCKED
    assert ask("installed", {**older, **COMPAT}).verdict is Verdict.READY
    assert ask("a100", {**H100, **driver("535.183.06"), **COMPAT}, vllm="0.33.0").verdict is Verdict.READY


@pytest.mark.parametrize(
    "facts",
    [
        {"gpus": [gpu(0, "NVIDIA GeForce RTX 4090", "8.9")]},  # GeForce takes none: error 804
        {"gpus": [gpu(0, "NVIDIA Nonesuch 9000", "9.0")]},  # whether it does is not known
        {**H100, "libcuda.version": "570.86.15"},  # older than CUDA 13
        {**H100, "libcuda.compat": False},
    ],
)
def test_it_counts_only_where_the_gpu_takes_it(ask: Ask, facts: Facts) -> None:
    assert ask("installed", {**driver("535.183.06"), **CUDA_13, **COMPAT, **facts}).verdict is Verdict.BLOCKED


RTX_5090 = {"devices": [{"address": "0000:17:00.0", "vendor": "10de", "device": "2b85", "kind": "gpu", "driver": None}]}


@pytest.mark.parametrize(
    "facts",
    [
        {"driver": {"version": "565.57.01", "library_version": "565.57.01", "nvml": "NoDevices"}},
        {"driver": {"version": "565.57.01", "library_version": "565.57.01", "nvml": "ok"}},
        {"driver": {"version": None, "nvml": "DriverNotLoaded"}, "kernel_modules": {"nvidia_on_disk": "565.57.01"}},
    ],
)
def test_a_gpu_that_its_driver_does_not_know_is_why_none_is_shown(ask: Ask, facts: Facts) -> None:
    judgement = ask("unseen", {"pci": RTX_5090, **facts})
    first = judgement.findings[0]
    assert (first.code, first.severity, first.evidence["needed"]) == ("driver-older-than-gpu", Severity.ERROR, "570.86.16")
    assert first.remedies[0].kind == "driver"


@pytest.mark.parametrize("version", ["570.86.16", "580.95.05"])
def test_a_driver_that_knows_the_gpu_is_not_blamed(ask: Ask, version: str) -> None:
    facts = {"pci": RTX_5090, "driver": {"version": version, "library_version": version, "nvml": "NoDevices"}}
    assert "driver-older-than-gpu" not in [finding.code for finding in ask("unseen", facts).findings]


ORIN = {"os.arch": "aarch64", "gpus": [gpu(0, "NVIDIA Jetson AGX Orin", "8.7")]}


def test_of_a_jetson_nothing_else_is_said(ask: Ask) -> None:
    # the wheels for servers hold code of its compute capability, so that they would be named as what runs
    codes = [finding.code for finding in ask("a100", {**ORIN, **driver("540.4.0")}).findings]
    assert codes == ["jetson-needs-special-build"]


def test_a_jetson_is_a_doubt_only_where_a_build_of_its_own_is_installed(ask: Ask) -> None:
    own = {**ORIN, "packages": {"vllm": "0.19.2.dev0+g1a2b3c"}, "torch": {"version": "2.10.0", "cuda": "12.9"}}
    assert found(ask("installed", own), "jetson-needs-special-build").severity is Severity.WARNING
    assert found(ask("installed", {**own, "packages": {"vllm": "0.19.1"}}), "jetson-needs-special-build").severity is Severity.ERROR
