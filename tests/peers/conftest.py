"""The command on a host document or a recorded folder, and one healthy host to change."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from envcheck.cli.main import main

Facts = dict[str, Any]
HEALTHY: Facts = {
    "os": {"name": "Ubuntu 22.04.5 LTS", "id": "ubuntu", "version": "22.04", "arch": "x86_64", "glibc": "2.35", "wsl": False},
    "python": {"version": "3.12.3"},
    "driver": {"version": "580.95.05", "nvml": "ok"},
    "gpus": [{"index": 0, "name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "memory_mib": 81920}],
    "torch": None,
    "packages": {},
    "container": None,
}


@pytest.fixture(autouse=True)
def neutral(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tester's own settings decide nothing here."""
    for name in ("ENVCHECK_LANG", "ENVCHECK_MATRIX_DIR", "UV_TORCH_BACKEND", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def host() -> Callable[..., Facts]:
    """`host(gpus=…, driver=…)`: the healthy host with parts replaced; a driver may be given by its version alone."""

    def changed(**parts: Any) -> Facts:
        if isinstance(parts.get("driver"), str):
            parts["driver"] = {"version": parts["driver"], "nvml": "ok"}
        parts["os"] = {**HEALTHY["os"], **parts.get("os", {})}
        return {**deepcopy(HEALTHY), **parts}

    return changed


@pytest.fixture
def installed() -> Callable[[str, str], Facts]:
    """`installed(vllm, torch)`: the parts of a host with these two, torch by its full version."""

    def parts(vllm: str, torch: str) -> Facts:
        label = re.search(r"\+cu(\d+)(\d)$", torch)
        assert label is not None
        return {"torch": {"version": torch, "cuda": f"{label[1]}.{label[2]}"}, "packages": {"vllm": vllm, "torch": torch}}

    return parts


@pytest.fixture
def ask(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, Any]]:
    """`ask("check", host, "--vllm", …)` runs the command on a host document or a recorded folder: the exit status and the JSON."""

    def asked(command: str, host: Facts | Path, *words: str) -> tuple[int, Any]:
        path = host if isinstance(host, Path) else tmp_path / "host.json"
        if not isinstance(host, Path):
            path.write_text(json.dumps(host), encoding="utf-8")
        status = main([command, "--host", str(path), "--offline", "--json", *words])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        return status, json.loads(out)

    return asked


@pytest.fixture
def batch(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[[list[Facts]], list[Facts]]:
    """Many questions in one call."""

    def asked(questions: list[Facts]) -> list[Facts]:
        path = tmp_path / "questions.ndjson"
        path.write_text("".join(json.dumps({"id": place, **one}) + "\n" for place, one in enumerate(questions)), encoding="utf-8")
        assert main(["batch", str(path)]) == 0
        sys.stdout.flush()
        return [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]

    return asked
