"""NVSwitch fabric: without its manager NVML looks healthy and CUDA fails."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.look import Look, nvml
from envcheck.probes.pci_bus import functions, nvidia

FIELDS = ("fabric.nvswitch", "fabric.manager", "fabric.state")
_SERVICE = "nvidia-fabricmanager"
_COMM = "nv-fabricmanage"  # the kernel keeps fifteen letters of `nv-fabricmanager`
_BINARY = "/usr/bin/nv-fabricmanager"
_UNITS = tuple(f"{folder}/systemd/system/{_SERVICE}.service" for folder in ("/usr/lib", "/lib", "/etc"))
# Where systemd keeps its services' control groups: version 2, then the trees of version 1.
_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
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
    """`running`, `stopped` or `absent`: by the service's control group, else by systemd, else by the processes.

    Once every GPU says that the fabric is up, nothing depends on it, and the last two cost a process or a walk through all of them.
    """
    return first_found(_manager(look))


def _needed(look: Look) -> bool:
    reached = state(look)
    return look.full or not (isinstance(reached, Found) and reached.value == "completed")


def _manager(look: Look) -> Iterator[Fact[str]]:
    inside = isinstance(look.once(kind), Found)
    yield _by_control_group(look, inside)
    if not _needed(look):
        yield Unreadable("not looked at; `envcheck probe` does")
        return
    yield _by_systemctl(look)
    if _in_processes(look):
        yield Found("running", "/proc")
    elif inside:
        yield Unreadable("the host's services cannot be seen from inside a container")
    else:
        yield _down(look, "/proc")


def _by_control_group(look: Look, inside: bool) -> Fact[str]:
    """Systemd makes a control group for each service that runs; a container shows its own groups at most."""
    for slices in _SLICES:
        if look.system.exists(f"{slices}/{_SERVICE}.service"):
            return Found("running", f"{slices}/{_SERVICE}.service")
        if not inside and _needed(look) and look.system.exists(slices):
            return Found("running", "/proc") if _in_processes(look) else _down(look, slices)
    return Unreadable(f"{_SLICES[0]}: no control groups of services")


def _by_systemctl(look: Look) -> Fact[str]:
    source = f"systemctl is-active {_SERVICE}"
    answer = look.system.run(("systemctl", "is-active", _SERVICE))
    if not isinstance(answer, Found):
        return Unreadable(f"systemctl: {answer.why}")
    word = answer.value.stdout.strip()
    if word in ("active", "activating", "reloading"):
        return Found("running", source)
    if word not in ("inactive", "failed", "deactivating", "unknown"):
        return Unreadable(f"{source}: {word[:60] or 'no answer'}")
    return Found("running", "/proc") if _in_processes(look) else _down(look, source)


def _down(look: Look, source: str) -> Found[str]:
    return Found("stopped" if any(look.system.exists(path) for path in (_BINARY, *_UNITS)) else "absent", source)


def _in_processes(look: Look) -> bool:
    """Also where nothing but a container of its own runs it, as operators of clusters do."""
    return look.once(_manager_runs)


def _manager_runs(look: Look) -> bool:
    for path in look.system.glob("/proc/[0-9]*/comm", _PROCESSES):
        name = look.line(path)
        if isinstance(name, Found) and name.value.startswith(_COMM):
            return True
    return False
