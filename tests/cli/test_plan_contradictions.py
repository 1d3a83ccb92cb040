"""What a plan must not say twice in two ways: one variable set once, and no script for a server that nothing installs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
MODEL = "Qwen/Qwen3-8B"
SYSTEM = {"os": {"id": "ubuntu", "version": "22.04", "arch": "x86_64", "glibc": "2.35"}, "python": {"version": "3.10.12"}}
CARDS = [
    {"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028},
    {"index": 1, "name": "Tesla T4", "compute_capability": "7.5", "memory_mib": 15360},
    {"index": 2, "name": "Tesla P4", "compute_capability": "6.1", "memory_mib": 7680},
]
KEPLER = [{"index": 0, "name": "Tesla K80", "compute_capability": "3.7", "memory_mib": 11441}]


def document(folder: Path, **facts: object) -> str:
    path = folder / "host.json"
    path.write_text(json.dumps({**SYSTEM, **facts}), encoding="utf-8")
    return str(path)


def test_a_way_that_sets_the_visible_gpus_sets_them_once(envcheck: Run, tmp_path: Path) -> None:
    # A T4 stays visible beside the A10: what a warning about unlike cards would hide further is no part of this way.
    host = document(tmp_path, driver={"version": "550.144.03"}, gpus=CARDS)
    envcheck("plan", "--host", host, "--model", MODEL, "--offline", "-o", str(tmp_path / "out"))
    for name in ("install.sh", "serve.sh"):
        lines = (tmp_path / "out" / name).read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if "CUDA_VISIBLE_DEVICES=" in line] == [
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES='0,1'"
        ]


@pytest.mark.parametrize("gpus", [KEPLER, None], ids=["too-old", "none"])
def test_where_nothing_is_installed_no_script_starts_a_server(envcheck: Run, tmp_path: Path, gpus: object) -> None:
    host = document(tmp_path, driver={"version": "470.256.02"} if gpus else None, gpus=gpus)
    status, out, _ = envcheck("plan", "--host", host, "--model", MODEL, "--offline", "-o", str(tmp_path / "out"))
    assert (status, os.listdir(tmp_path / "out")) == (1, ["plan.json"])
    assert "serve.sh" not in out
