"""What a start costs and how fast a batch goes, as one JSON object: `python -m tests.benchmarks` from the checkout.

CPU times are user and system time of the command with all its children, from `getrusage`, the least of several runs: other load on the
machine adds to a run and never takes away, and the first run compiles the bytecode. `*_ms` milliseconds, `*_mib` the largest resident
set of any process of the command.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[2]
STANDINS = {"libnvidia-ml.so.1": "nvml_*.c", "libcuda.so.1": "cuda_standin.c"}
RUNS = 9
HOSTS = 4000
COMMAND = [sys.executable, "-m", "envcheck"]
CARDS = (
    ("Tesla V100-SXM2-32GB", "7.0", 32768),
    ("Tesla T4", "7.5", 15360),
    ("NVIDIA A10", "8.6", 23028),
    ("NVIDIA L20", "8.9", 46068),
    ("NVIDIA GeForce RTX 4090", "8.9", 24564),
    ("NVIDIA H20", "9.0", 97871),
    ("NVIDIA GeForce RTX 5090", "12.0", 32607),
)
DRIVERS = (
    "470.161.03",
    "525.147.05",
    "535.161.08",
    "535.183.01",
    "550.54.15",
    "570.144",
    "575.57.08",
    "580.65.06",
    "580.95.05",
    "590.44.01",
)
PYTHONS = ("3.8.10", "3.10.12", "3.11.9", "3.12.3")
LIBRARIES = ("2.28", "2.31", "2.35", "2.39")
PACKAGES: tuple[dict[str, str], ...] = (
    {},
    {"vllm": "0.19.1", "torch": "2.10.0+cu128", "transformers": "5.16.1", "numpy": "2.2.6"},
    {"vllm": "0.8.5.post1", "torch": "2.6.0+cu124", "transformers": "4.57.6", "numpy": "1.26.4"},
    {"vllm": "0.33.0", "torch": "2.14.0+cu130", "transformers": "5.20.2", "numpy": "2.3.5"},
)


def cpu_seconds(argv: list[str], bytecode: str, more: Mapping[str, str] | None = None) -> float:
    """User and system time of a command and its children, in seconds; whatever verdict it gives.

    `bytecode` = where it is kept, `more` = variables besides those of this process.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**kept, "PYTHONPYCACHEPREFIX": bytecode, **(more or {})},
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{argv} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least_ms(bytecode: str, *arguments: str, more: Mapping[str, str] | None = None) -> float:
    """The least CPU time of a command line of envcheck, in milliseconds."""
    return round(min(cpu_seconds([*COMMAND, *arguments], bytecode, more) for _ in range(RUNS)) * 1000, 1)


def eight_gpus(folder: Path) -> dict[str, str] | None:
    """The environment in which a command sees eight GPUs: the stand-ins of NVML and libcuda, compiled here; None without a compiler."""
    native, profiles = TOP / "tests" / "native", TOP / "tests" / "profiles"
    for compiler in (["cc"], [sys.executable, "-m", "ziglang", "cc"]):
        made = [_compiled(compiler, native, pattern, folder / name) for name, pattern in STANDINS.items()]
        if all(made):
            return {"LD_LIBRARY_PATH": str(folder), "ENVCHECK_NVML_PROFILE": str(profiles / "h20x8.ini")}
    return None


def _compiled(compiler: list[str], native: Path, pattern: str, target: Path) -> bool:
    sources = [str(path) for path in (*sorted(native.glob(pattern)), native / "profile.c")]
    argv = [*compiler, "-std=gnu11", "-O1", "-shared", "-fPIC", f"-Wl,-soname,{target.name}", "-o", str(target), *sources]
    try:
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def hosts() -> Iterator[dict[str, Any]]:
    """Host documents, all different."""
    for (name, capability, mib), driver, python, glibc, packages in itertools.product(CARDS, DRIVERS, PYTHONS, LIBRARIES, PACKAGES):
        gpu = {"index": 0, "name": name, "compute_capability": capability, "memory_mib": mib}
        yield {
            "schema": "envcheck.host/1",
            "os": {"name": "Linux", "arch": "x86_64", "glibc": glibc},
            "python": {"version": python},
            "driver": {"version": driver, "library_version": driver, "nvml": "ok"},
            "gpus": [gpu],
            "packages": packages,
            "memory": {"ram_mib": 262144, "shm_mib": 65536},
        }


def batch_rate(folder: Path) -> float:
    """Hosts judged in a second of CPU time; the start of the command, measured with one host, is taken off."""
    lines = [json.dumps({"id": number, "host": host}) for number, host in enumerate(itertools.islice(hosts(), HOSTS))]
    many, one = folder / "many.ndjson", folder / "one.ndjson"
    many.write_text("\n".join(lines) + "\n", encoding="utf-8")
    one.write_text(lines[0] + "\n", encoding="utf-8")
    start = min(cpu_seconds([*COMMAND, "batch", str(one)], str(folder)) for _ in range(5))
    whole = min(cpu_seconds([*COMMAND, "batch", str(many)], str(folder)) for _ in range(5))
    return round((len(lines) - 1) / (whole - start), 0)


def main() -> None:
    """Measure and print."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in (("version", ["--version"]), ("help", ["--help"]), ("check", ["check", "--offline"])):
            figures[f"{name}_cpu_ms"] = least_ms(folder, *arguments)
        figures["check_peak_mib"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1)  # before a compiler ran
        seen = eight_gpus(Path(folder))
        if seen is not None:
            figures["check_8_gpus_cpu_ms"] = least_ms(folder, "check", "--offline", more=seen)
        figures["batch_hosts_per_cpu_second"] = batch_rate(Path(folder))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
