"""Processes that hold GPU memory, as NVML names them."""

from __future__ import annotations

from msgspec import UNSET

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import Process
from envcheck.model.units import MIB
from envcheck.probes.container import kind
from envcheck.probes.driver import kernel_version
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look, nvml

FIELDS = ("processes",)
_NAMED = 64  # how many names are looked up


def probe(look: Look) -> Facts:
    """The list under `processes`; in a container NVML often names none although memory is in use."""
    return {"processes": running(look)}


def running(look: Look) -> Fact[list[Process]]:
    """One entry a process and GPU; memory in MiB."""
    report = look.once(nvml)
    if report.status != "ok":
        bare = report.status == "LibraryNotFound" and isinstance(look.once(kernel_version), Absent)
        return Absent("no NVIDIA driver") if bare else Unreadable(f"NVML: {report.status}")
    if report.gpus and all(gpu.processes is None for gpu in report.gpus):
        return Unreadable("NVML does not tell")
    named = not isinstance(look.once(kind), Found)  # inside a container the numbers are the host's
    found: list[Process] = []
    for gpu in report.gpus:
        for process in gpu.processes or ():
            name = look.line(f"/proc/{process.pid}/comm") if named and len(found) < _NAMED else Absent("not looked up")
            used = process.used_bytes / MIB if process.used_bytes is not None else UNSET
            found.append(Process(process.pid, gpu.index, used, name.value if isinstance(name, Found) else UNSET))
    return Found(found, "NVML")
