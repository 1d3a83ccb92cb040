"""Findings on GPUs that explain others, and what a serving vLLM settles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.model.finding import Severity, Verdict
from envcheck.rules.check import Judgement

Ask = Callable[..., Judgement]
SLICE = {"index": 0, "name": "A100-SXM4-40GB MIG 1g.5gb", "compute_capability": "8.0"}
OLD, NEW = {"index": 0, "name": "NVIDIA GeForce GTX 1080 Ti"}, {"index": 1, "name": "NVIDIA GeForce RTX 3090"}
VIRTUAL = [{"index": index, "name": "NVIDIA A40-48Q", "compute_capability": "8.6"} for index in (0, 1)]
FULL = [{"index": 0, "name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871, "memory_free_mib": 6000}]
DOWN = [{"index": index, "name": "NVIDIA H20", "compute_capability": "9.0", "nvlinks": 0} for index in (0, 1)]


@pytest.mark.parametrize(
    ("base", "facts", "cause", "explained"),
    [
        ("installed", {"gpus": [SLICE]}, "mig-device-selection", "mig-memory"),
        ("a100", {"gpus": [OLD, NEW]}, "mixed-gpus", "gpu-too-old"),
        ("a100", {"gpus": VIRTUAL, "pci": {"iommu": "translated", "acs_redirect": True}}, "vgpu-limits", "p2p-broken"),
        ("a100", {"gpus": DOWN, "fabric": {"manager": "stopped"}}, "fabric-manager-not-ready", "p2p-broken"),
    ],
)
def test_the_cause_stands_and_what_follows_lies_under_it(ask: Ask, base: str, facts: dict[str, Any], cause: str, explained: str) -> None:
    findings = ask(base, facts).findings
    assert findings[0].code == cause
    assert explained in [inner.code for inner in findings[0].consequences]
    assert explained not in [finding.code for finding in findings]


def test_a_server_that_runs_holds_its_own_memory(ask: Ask) -> None:
    busy = {"gpus": FULL, "processes": [{"pid": 7, "gpu": 0, "name": "VLLM::EngineCor"}]}
    assert ask("installed", busy).verdict is Verdict.READY_WITH_WARNINGS
    serving = ask("installed", {**busy, "observed": {"vllm_serves": True}})
    assert serving.verdict is Verdict.READY
    assert {finding.severity for finding in serving.findings if finding.code == "gpu-memory-busy"} == {Severity.INFO}


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "NVIDIA A10", "NVIDIA L20", "NVIDIA H20"])
def test_a_healthy_host_of_several_gpus_has_no_warning(ask: Ask, name: str) -> None:
    gpus = [
        {
            "index": index,
            "name": name,
            "memory_mib": 24564,
            "memory_free_mib": 24100,
            "mig": False,
            "mig_pending": None,
            "virtualization": "passthrough",
            "compute_mode": "default",
            "persistence": False,
            "pcie": {"width": 16, "width_max": 16, "generation": 1, "generation_max": 4},
            "health": {"ecc": None, "uncorrected_errors": 0, "remap_pending": False, "remap_failed": False, "throttle": ["power-cap"]},
        }
        for index in range(2)
    ]
    facts = {
        "gpus": gpus,
        "fabric": {"state": "completed"},
        "topology": [{"a": 0, "b": 1, "link": "node", "p2p": "not-supported"}],
        "pci": {"iommu": "translated", "acs_redirect": True},
        "memory.shm_mib": 8192,
        "limits": {"memlock_mib": 8, "open_files": 1024},
        "disk": [{"path": "/", "free_mib": 200000, "purposes": ["environment", "model-cache"], "writable": True, "read_only": False}],
        "environment": {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "eth0"},
        "network": {"model_hub": "reachable"},
        "kernel_log": {"xids": [], "events": []},
    }
    judgement = ask("a100", facts)
    assert [finding.code for finding in judgement.findings if finding.severity is not Severity.INFO] == []
    assert judgement.verdict is Verdict.READY
