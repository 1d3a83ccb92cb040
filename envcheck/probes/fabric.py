"""NVSwitch fabric: without its manager NVML looks healthy and CUDA fails."""

from __future__ import annotations

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.look import Look, nvml
from envcheck.probes.pci_bus import functions, nvidia

FIELDS = ("fabric.nvswitch", "fabric.manager", "fabric.state")
_SERVICE = "nvidia-fabricmanager"
_COMM = "nv-fabricmanage"  # the kernel keeps fifteen letters of `nv-fabricmanager`
_BINARY = "/usr/bin/nv-fabricmanager"
_UNITS = tuple(f"{folder}/systemd/system/{_SERVICE}.service" for folder in ("/usr/lib", "/lib", "/etc"))
_PROCESSES = 4096
_ORDER = ("not-started", "in-progress", "completed")  # the least advanced GPU speaks for the host


def probe(look: Look) -> Facts:
    """All facts under `fabric`; the manager is looked for only where a switch is."""
    present = nvswitch(look)
    if not isinstance(present, Found):
        return all_of(FIELDS, present)
    if not present.value:
        return {"fabric.nvswitch": present, **all_of(FIELDS[1:], Absent("no NVSwitch"))}
    return {"fabric.nvswitch": present, "fabric.manager": manager(look), "fabric.state": state(look)}


def nvswitch(look: Look) -> Fact[bool]:
    """A switch on the PCI bus, or at the other end of a GPU's link (newer boards and virtual machines show it only there)."""
    if nvidia(look, "nvswitch"):
        return Found(True, "/sys/bus/pci/devices")
    if any("switch" in gpu.nvlink_peers for gpu in look.once(nvml).gpus):
        return Found(True, "NVML")
    bus = look.once(functions)
    return bus if isinstance(bus, Unreadable) else Found(False, bus.source if isinstance(bus, Found) else bus.why)


def state(look: Look) -> Fact[str]:
    """The fabric state that NVML gives, of the GPU furthest behind; a completed one with an error is not completed."""
    report = look.once(nvml)
    states = {gpu.fabric_state for gpu in report.gpus if gpu.fabric_state}
    bad = {gpu.fabric_status for gpu in report.gpus if gpu.fabric_state == "completed"} - {None, "ok"}
    for name in _ORDER:
        if name in states and not (name == "completed" and bad):
            return Found(name, "NVML")
    if bad:
        return Found(f"failed: {sorted(map(str, bad))[0]}", "NVML")
    if states:
        return Found("unsupported", "NVML")
    return Unreadable(f"NVML: {report.status}" if report.status != "ok" else "this driver does not tell")


def manager(look: Look) -> Fact[str]:
    """`running`, `stopped` or `absent`, by systemd, else by the processes."""
    answer = look.system.run(("systemctl", "is-active", _SERVICE))
    word = answer.value.stdout.strip() if isinstance(answer, Found) else ""
    if word in ("active", "activating", "reloading"):
        return Found("running", f"systemctl is-active {_SERVICE}")
    if _in_processes(look):
        return Found("running", "/proc")
    if word in ("inactive", "failed", "deactivating", "unknown"):
        return Found("stopped" if _installed(look) else "absent", f"systemctl is-active {_SERVICE}")
    if isinstance(look.once(kind), Found):
        return Unreadable("the host's services cannot be seen from inside a container")
    return Found("stopped" if _installed(look) else "absent", "/proc")


def _installed(look: Look) -> bool:
    return any(look.system.exists(path) for path in (_BINARY, *_UNITS))


def _in_processes(look: Look) -> bool:
    for path in look.system.glob("/proc/[0-9]*/comm", _PROCESSES):
        name = look.line(path)
        if isinstance(name, Found) and name.value.startswith(_COMM):
            return True
    return False
