"""Kernel modules that decide: nouveau on the card, NVIDIA's own, and the NVIDIA module that the next boot will load."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.driver import is_release, kernel_version
from envcheck.probes.facts import Facts, first_found
from envcheck.probes.look import Look, nvml, uname
from envcheck.probes.pci_bus import functions, nvidia

FIELDS = (
    *("kernel_modules.nouveau", "kernel_modules.nvidia_on_disk", "kernel_modules.flavour_on_disk"),
    *("kernel_modules.nvidia", "kernel_modules.nvidia_uvm"),
)
NOT_LOOKED = Unreadable("not looked at; `envcheck probe` does")
_LIMIT = 1 << 18  # bytes of /proc/modules; a hundred modules take eight KiB
_DKMS = "/var/lib/dkms"
# Where packages of the distributions, DKMS and NVIDIA's own installer put the module of a kernel.
_PLACES = ("updates/dkms", "updates", "kernel/drivers/video", "kernel/nvidia-*", "extra", "extra/*", "weak-updates/*")


def probe(look: Look) -> Facts:
    """All facts under `kernel_modules`."""
    return {
        "kernel_modules.nouveau": loaded(look, "nouveau"),
        "kernel_modules.nvidia_on_disk": look.once(nvidia_on_disk),
        "kernel_modules.flavour_on_disk": flavour_on_disk(look),
        "kernel_modules.nvidia": loaded(look, "nvidia"),
        "kernel_modules.nvidia_uvm": loaded(look, "nvidia_uvm"),
    }


def parse_modules(text: str) -> frozenset[str]:
    """The names in `/proc/modules`."""
    return frozenset(line.split(" ", 1)[0] for line in text.splitlines())


def _modules(look: Look) -> Fact[frozenset[str]]:
    fact = look.text("/proc/modules", _LIMIT)
    if not isinstance(fact, Found):
        return fact
    return Found(parse_modules(fact.value), fact.source) if len(fact.value) < _LIMIT else Unreadable(f"{fact.source}: larger than 256 KiB")


def loaded(look: Look, name: str) -> Fact[bool]:
    """Whether a module is loaded; the list is the host's own also inside a container."""
    modules = look.once(_modules)
    if isinstance(modules, Found):
        return Found(name in modules.value, modules.source)
    if look.system.exists("/sys/module"):
        return Found(look.system.exists(f"/sys/module/{name}"), "/sys/module")
    return Unreadable(modules.why)


def asked(look: Look) -> bool:
    """Whether `modinfo` is worth its process: the caller wants all, or the driver does not work."""
    return look.full or look.once(nvml).status != "ok"


def nvidia_on_disk(look: Look) -> Fact[str]:
    """The release of the module on disk for the running kernel: what `modinfo` says, else where DKMS put it."""
    if not nvidia(look, "gpu") and not isinstance(look.once(kernel_version), Found):
        bus = look.once(functions)
        return bus if isinstance(bus, Unreadable) else Absent("no NVIDIA GPU on the PCI bus")
    if isinstance(look.once(kind), Found):
        return Unreadable("the host's modules cannot be seen from inside a container")
    return first_found(_releases(look))


def _releases(look: Look) -> Iterator[Fact[str]]:
    if asked(look):
        yield _modinfo(look)
    yield _dkms(look)
    if not asked(look):
        yield NOT_LOOKED


def _modinfo(look: Look) -> Fact[str]:
    answer = look.system.run(("modinfo", "-F", "version", "nvidia"))
    if not isinstance(answer, Found):
        return Unreadable(f"modinfo: {answer.why}")
    version = answer.value.stdout.strip()
    if answer.value.status == 0 and is_release(version):
        return Found(version, "modinfo -F version nvidia")
    return Absent(_missing(look)) if answer.value.status else Unreadable("modinfo -F version nvidia names no release")


def _missing(look: Look) -> str:
    """That the module is missing, and for which other kernels it is there."""
    fact = look.once(uname)
    running = fact.value[1] if isinstance(fact, Found) else "this kernel"
    paths = (path for place in _PLACES for path in look.system.glob(f"/lib/modules/*/{place}/nvidia*.ko*", 64))
    others = [release for release in dict.fromkeys(path.split("/")[3] for path in paths) if release != running]
    there = f"; there is one for {', '.join(others[:3])}" if others else ""
    return f"modinfo: no nvidia module for {running}{there}"


def _dkms(look: Look) -> Fact[str]:
    """DKMS links `kernel-<release>-<machine>` to `<version>/<release>/<machine>`, the build it installed for that kernel."""
    fact = look.once(uname)
    if not isinstance(fact, Found):
        return Unreadable(f"{_DKMS}: the running kernel's release is not known")
    _, release, machine = fact.value
    for link in look.system.glob(f"{_DKMS}/nvidia*/kernel-{release}-{machine}", 8):
        real = look.system.resolve(link)
        parts = real.value.split("/") if isinstance(real, Found) else []
        version = next((part for part in parts if re.fullmatch(r"\d{3,4}\.\d{1,4}(\.\d{1,4})?", part)), None)
        if version:
            return Found(version, link)
    return Absent(f"{posixpath.join(_DKMS, 'nvidia')}: nothing installed for {release}")


def flavour_on_disk(look: Look) -> Fact[str]:
    """Which of the two kinds the module on disk is, by its licence; asked only where `modinfo` has told its release."""
    version = look.once(nvidia_on_disk)
    if not isinstance(version, Found):
        return version
    if not asked(look):
        return NOT_LOOKED
    answer = look.system.run(("modinfo", "-F", "license", "nvidia"))
    if not isinstance(answer, Found) or answer.value.status:
        return Unreadable(f"modinfo -F license nvidia: {'no answer' if isinstance(answer, Found) else answer.why}")
    licence = answer.value.stdout.strip()[:60]
    if licence in ("NVIDIA", "Dual MIT/GPL"):
        return Found("proprietary" if licence == "NVIDIA" else "open", "modinfo -F license nvidia")
    return Unreadable(f"modinfo -F license nvidia: {licence!r}")
