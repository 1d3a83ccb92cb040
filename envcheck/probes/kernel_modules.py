"""Kernel modules that decide: nouveau on the card, and the NVIDIA module that the next boot will load."""

from __future__ import annotations

import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.driver import kernel_version
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look, nvml
from envcheck.probes.pci_bus import functions, nvidia

FIELDS = ("kernel_modules.nouveau", "kernel_modules.nvidia_on_disk")


def probe(look: Look) -> Facts:
    """All facts under `kernel_modules`."""
    return {"kernel_modules.nouveau": nouveau(look), "kernel_modules.nvidia_on_disk": nvidia_on_disk(look)}


def parse_modules(text: str) -> frozenset[str]:
    """The names in `/proc/modules`."""
    return frozenset(line.split(" ", 1)[0] for line in text.splitlines())


def nouveau(look: Look) -> Fact[bool]:
    """Whether nouveau is loaded."""
    modules = look.text("/proc/modules", 1 << 18)
    if isinstance(modules, Found):
        return Found("nouveau" in parse_modules(modules.value), modules.source)
    if look.system.exists("/sys/module"):
        return Found(look.system.exists("/sys/module/nouveau"), "/sys/module")
    return Unreadable(modules.why)


def nvidia_on_disk(look: Look) -> Fact[str]:
    """The release of the module on disk, asked of `modinfo` only where hardware is there and the running module is missing or at odds."""
    if not nvidia(look, "gpu") and not isinstance(look.once(kernel_version), Found):
        bus = look.once(functions)
        return bus if isinstance(bus, Unreadable) else Absent("no NVIDIA GPU on the PCI bus")
    if look.once(nvml).status == "ok":
        return Unreadable("not asked: the loaded driver works")
    if isinstance(look.once(kind), Found):
        return Unreadable("the host's modules cannot be seen from inside a container")
    answer = look.system.run(("modinfo", "-F", "version", "nvidia"))
    if not isinstance(answer, Found):
        return Unreadable(f"modinfo: {answer.why}")
    version = answer.value.stdout.strip()
    if answer.value.status == 0 and re.fullmatch(r"\d{2,4}(\.\d{1,4}){1,3}", version):
        return Found(version, "modinfo -F version nvidia")
    return Absent("modinfo knows no nvidia module")
