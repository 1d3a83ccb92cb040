"""Running the command in this process and as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
A10: dict[str, Any] = {
    "schema": "envcheck.host/1",
    "os": {"name": "Ubuntu 22.04.5 LTS", "id": "ubuntu", "version": "22.04", "glibc": "2.35", "arch": "x86_64"},
    "python": {"version": "3.10.12"},
    "driver": {"version": "535.161.08", "cuda": "12.2"},
    "gpus": [{"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}],
    "cloud": {"provider": "aliyun"},
}


@pytest.fixture(autouse=True)
def neutral_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tester's language, colours and folders decide nothing here."""
    for name in ("ENVCHECK_LANG", "LC_ALL", "LC_MESSAGES", "LANG", "NO_COLOR", "ENVCHECK_DEBUG", "ENVCHECK_MATRIX_DIR", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def a10(tmp_path: Path) -> str:
    """The path of a report: an A10 under driver 535 in Alibaba Cloud."""
    path = tmp_path / "a10.json"
    path.write_text(json.dumps(A10), encoding="utf-8")
    return str(path)


@pytest.fixture
def envcheck(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, str, str]]:
    """`envcheck(*words)` runs the command in this process: status, standard output, standard error."""
    from envcheck.cli.main import main

    def call(*words: str) -> tuple[int, str, str]:
        status = main(list(words))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


@pytest.fixture
def process(processes: None) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """`process(*words, input=…, env=…)` runs the command as a user does, from another folder."""

    def call(*words: str, env: dict[str, str] | None = None, **how: Any) -> subprocess.CompletedProcess[bytes]:
        whole = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "", **(env or {})}
        return subprocess.run([sys.executable, "-m", "envcheck", *words], capture_output=True, check=False, env=whole, timeout=60, **how)

    return call
