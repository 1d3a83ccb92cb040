"""Runs of `envcheck` itself: what they cost, and whether a recording replays to the same facts."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpucheck_compare import Result
from gpucheck_smi import flat

ENVCHECK = (sys.executable, "-m", "envcheck")
RUNS = 5
LIMIT_S = 30


def run(argv: Sequence[str], extra: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command with a time limit, its output as text."""
    env = {**os.environ, **(extra or {})}
    return subprocess.run(list(argv), capture_output=True, text=True, errors="replace", timeout=LIMIT_S, env=env, check=False)


def cost(arguments: Sequence[str], extra: Mapping[str, str] | None = None, runs: int = RUNS) -> dict[str, Any]:
    """Wall and processor time of `envcheck ARGUMENTS` with all its children, ms: the least and the median of the runs after a first."""
    run([*ENVCHECK, *arguments], extra)  # compiles the bytecode, wakes the driver
    wall, cpu = [], []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        run([*ENVCHECK, *arguments], extra)
        end, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append((end - start) * 1000)
        cpu.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000)
    return {
        "runs": runs,
        "wall_ms": {"least": round(min(wall), 1), "median": round(statistics.median(wall), 1)},
        "cpu_ms": {"least": round(min(cpu), 1), "median": round(statistics.median(cpu), 1)},
    }


def costs() -> dict[str, Any]:
    """What the commands cost on this host, also with one GPU shown."""
    return {
        "check --offline": cost(["check", "--offline"]),
        "check --offline, CUDA_VISIBLE_DEVICES=0": cost(["check", "--offline"], {"CUDA_VISIBLE_DEVICES": "0"}),
        "probe --offline --json": cost(["probe", "--offline", "--json"]),
    }


def probed() -> dict[str, Any]:
    """The host document of this host; raises where `envcheck probe` does not give one."""
    done = run([*ENVCHECK, "probe", "--offline", "--json"])
    if done.returncode:
        raise RuntimeError(f"envcheck probe ended with {done.returncode}: {done.stderr[-500:]}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Dotted paths at which two host documents differ; where a value came from does not count."""
    one, other = (flat({key: held for key, held in document.items() if key != "provenance"}) for document in (first, second))
    return sorted(path for path in {*one, *other} if one.get(path, "missing") != other.get(path, "missing"))


def recorded(folder: Path) -> Result:
    """Record this host into `folder` and `<folder>.tar.gz`, replay it and compare with what the recording run itself said."""
    if "--record" not in run([*ENVCHECK, "probe", "--help"]).stdout:
        return Result("recording", "SKIP", None, None, "this envcheck has no `probe --record`")
    live = run([*ENVCHECK, "probe", "--offline", "--json", "--record", str(folder), "--force"])
    again = run([*ENVCHECK, "probe", "--offline", "--json", "--host", str(folder)])
    if live.returncode or again.returncode:
        return Result("recording", "FAIL", live.stderr[-300:], again.stderr[-300:], f"exit {live.returncode} and {again.returncode}")
    shutil.make_archive(str(folder), "gztar", folder)  # one file to carry away
    differ = differences(json.loads(live.stdout), json.loads(again.stdout))
    return Result("recording", "FAIL" if differ else "PASS", f"{len(differ)} facts differ", "none", ", ".join(differ[:12]))
