"""What other checkers of vLLM environments answer wrongly: the driver."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Facts = dict[str, Any]
Ask = Callable[..., tuple[int, Any]]
Host = Callable[..., Facts]

TOP = Path(__file__).parents[2]

# --- Since driver 610 the banner of nvidia-smi has other words, and the driver is "not detected". ---

OLD_BANNER = """Mon Nov 30 10:00:00 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
"""
NEW_BANNER = """Mon Nov 30 10:00:00 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
"""
OPEN_MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  610.43.02  Release Build  (dvs-builder@U22-I3-AM02-24-3)\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
)


def recorded(folder: Path, files: dict[str, str], smi: str | None = None) -> Path:
    """A recorded host of these files, on which `nvidia-smi`, where it is there at all, prints this, and NVML cannot be loaded."""
    for name, text in {"etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n', **files}.items():
        path = folder / "rootfs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    which = {"nvidia-smi": "/usr/bin/nvidia-smi"} if smi else {}
    system = {"uname": ["Linux", "5.15.0-91-generic", "x86_64"], "libc": ["glibc", "2.35"], "which": which}
    (folder / "system.json").write_text(json.dumps(system), encoding="utf-8")
    (folder / "env.json").write_text("{}", encoding="utf-8")
    said = {"nvidia-smi": {"status": 0, "stdout": smi, "stderr": ""}} if smi else {}
    (folder / "commands.json").write_text(json.dumps(said), encoding="utf-8")
    return folder


ON_THE_BUS = {"sys/bus/pci/devices/0000:3b:00.0/uevent": "PCI_CLASS=30200\nPCI_ID=10DE:2236\nPCI_SLOT_NAME=0000:3b:00.0\n"}


@pytest.mark.parametrize(("banner", "version", "cuda"), [(OLD_BANNER, "580.95.05", "13.0"), (NEW_BANNER, "610.43.02", "13.3")])
def test_either_banner_tells_the_driver(ask: Ask, host: Host, tmp_path: Path, banner: str, version: str, cuda: str) -> None:
    _, facts = ask("probe", recorded(tmp_path / "there", ON_THE_BUS, banner))
    assert facts["driver"]["version"] == version
    assert facts["driver"]["cuda"] == cuda


@pytest.mark.parametrize(
    "files",
    [{"proc/driver/nvidia/version": OPEN_MODULE}, {"sys/module/nvidia/version": "610.43.02\n"}],
    ids=["proc", "sys"],
)
def test_a_driver_of_branch_610_is_found_without_its_tools(ask: Ask, host: Host, tmp_path: Path, files: dict[str, str]) -> None:
    _, facts = ask("probe", recorded(tmp_path / "there", files | ON_THE_BUS))
    assert facts["driver"]["version"] == "610.43.02"


def test_nvml_tells_a_driver_of_branch_610(ask: Ask, host: Host, tmp_path: Path) -> None:
    folder = recorded(tmp_path / "there", {"proc/driver/nvidia/version": OPEN_MODULE} | ON_THE_BUS)
    source = TOP / "tests" / "hosts" / "aliyun-ubuntu2204-a10-ready" / "nvml.json"
    said = re.sub(r"\b(535|550|570|580|590)\.\d+(\.\d+)?\b", "610.43.02", source.read_text(encoding="utf-8"))
    (folder / "nvml.json").write_text(said, encoding="utf-8")
    _, facts = ask("probe", folder)
    assert facts["driver"]["version"] == "610.43.02"
    assert facts["driver"]["nvml"] == "ok"
    assert [gpu["name"] for gpu in facts["gpus"]] == ["NVIDIA A10"]


def test_a_release_for_cuda_13_runs_on_branch_610(ask: Ask, host: Host) -> None:
    status, answer = ask("check", host(driver="610.43.02"), "--vllm", "0.33.0")
    assert (status, answer["verdict"]) == (0, "ready")


# --- No driver, no library, no vLLM: status 0, or a traceback. ---


def test_no_gpu_and_no_driver_ends_with_1(ask: Ask, host: Host, tmp_path: Path) -> None:
    status, answer = ask("check", recorded(tmp_path / "there", {"proc/modules": "", "sys/bus/pci/devices/.keep": ""}))
    assert status == 1
    assert answer["findings"][0]["code"] == "no-gpu"


def test_a_gpu_without_driver_ends_with_1(ask: Ask, host: Host, tmp_path: Path) -> None:
    status, answer = ask("check", recorded(tmp_path / "there", {"proc/modules": ""} | ON_THE_BUS))
    assert status == 1
    assert answer["findings"][0]["code"] == "driver-not-loaded"


def test_a_broken_nvidia_smi_is_no_driver(ask: Ask, host: Host, tmp_path: Path) -> None:
    status, answer = ask("check", recorded(tmp_path / "there", {"proc/modules": ""} | ON_THE_BUS, "NVIDIA-SMI has failed\n"))
    assert status in (1, 3)
    assert answer["verdict"] in ("blocked", "unknown")
