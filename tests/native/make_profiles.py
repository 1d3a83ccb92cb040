"""Writes a stand-in's profile for every GPU of the matrix: `python tests/native/make_profiles.py FOLDER` from the checkout.

Each profile is one board alone under the newest driver branch that knows it. What the matrix does not say is left out or marked below.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

MATRICES = Path(__file__).parents[2] / "matrices"
NOMINAL_MIB = 16384  # for a board whose memory the matrix does not tell
MIG_CAPABILITIES = frozenset({"8.0", "9.0", "10.0", "10.3"})  # on data-centre boards only
LINKS = 12
Record = dict[str, Any]


class Driver(NamedTuple):
    """A driver release and its CUDA level as NVML counts it (12040 = 12.4)."""

    version: str
    cuda: int


def load(name: str) -> Any:
    """One file of the matrix, as it stands."""
    return json.loads((MATRICES / name).read_text(encoding="utf-8"))


def branches() -> dict[int, Driver]:
    """A release and the CUDA level of every driver branch that has one."""
    cuda = load("cuda.json")
    releases = {
        int(tool["bundled_driver"].split(".")[0]): tool["bundled_driver"] for tool in cuda["toolkits"] if tool.get("bundled_driver")
    }
    levels = {entry["branch"]: entry["max_cuda"] for entry in cuda["branches"] if entry.get("max_cuda")}
    for record in load("gpus.json"):
        releases.update({int(branch): version for branch, version in record.get("first_driver", {}).items()})
    return {branch: Driver(releases[branch], _level(level)) for branch, level in levels.items() if branch in releases}


def _level(cuda: str) -> int:
    major, minor = cuda.split(".")[:2]
    return int(major) * 1000 + int(minor) * 10


def driver_of(record: Record, known: dict[int, Driver]) -> Driver:
    """The newest branch that lists the board, else the last that serves it, else the newest of all."""
    listed = [branch for branch in map(int, record.get("first_driver", {})) if branch in known]
    if listed:
        newest = max(listed)
        return Driver(record["first_driver"][str(newest)], known[newest].cuda)
    last = record.get("last_branch")
    return known[max(branch for branch in known if last is None or branch <= last)]


def memory_mib(record: Record) -> int | None:
    """What NVML would report, MiB; None for memory shared with the system."""
    if record.get("unified_memory"):
        return None
    nominal = record.get("memory_gb")
    return record.get("memory_mib") or (int(nominal * 1024) if nominal else NOMINAL_MIB)


def profile(record: Record, number: int, driver: Driver) -> str:
    """The text of the profile of a board; `number` tells its UUID and place apart from other boards'."""
    system = [
        "[system]",
        "gpus = 1",
        f"driver = {driver.version}",
        f"nvml = {driver.cuda // 1000}.{driver.version}",
        f"cuda = {driver.cuda}",
    ]
    gpu = [
        "[gpu]",
        f"name = {record['name']}",
        f"uuid = GPU-00000000-0000-0000-0000-{number:012x}",
        f"pci = 0000:{number % 256:02X}:00.0",
        f"cc = {record['compute_capability']}",
        "virtualization = 0",
        "compute_mode = 0",
    ]
    memory = memory_mib(record)
    if memory is not None:
        gpu += [f"memory_total = {memory} MiB", "memory_reserved = 300 MiB", "memory_used = 0"]
    if record["kind"] == "data-center" and record["compute_capability"] in MIG_CAPABILITIES:
        gpu += ["mig = 0 0", "mig_max = 7"]
    if record.get("nvlink"):
        gpu += [f"nvlinks = {LINKS}/{LINKS}", f"nvlink_remote = {2 if record.get('nvswitch_board') else 0}"]
    if record.get("nvswitch_board"):
        gpu += ["fabric = 3 0"]
    return "\n".join([f"# {record['name']}, from the matrix.", *system, "", *gpu, ""])


def write_all(folder: Path) -> list[tuple[Record, Path]]:
    """Write a profile for every record; the records with their files, in the matrix's order."""
    known = branches()
    written = []
    for number, record in enumerate(load("gpus.json"), 1):
        path = folder / f"{number:03d}.ini"
        path.write_text(profile(record, number, driver_of(record, known)), encoding="utf-8")
        written.append((record, path))
    return written


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(f"{len(write_all(target))} profiles in {target}")
