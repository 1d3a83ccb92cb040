"""The PCI view of the host: accelerators of any maker, and how the IOMMU treats them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec import UNSET, UnsetType

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import PciDevice
from envcheck.probes.accelerators import makers_by_vendor, shown_by
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.pci_bus import BUS, PciFunction, acs_redirects, functions, nvidia, nvidia_kind, parse_resource

FIELDS = ("pci.devices", "pci.iommu", "pci.acs_redirect")
_MOST = 32  # GPUs looked at closely


def probe(look: Look) -> Facts:
    """All facts under `pci`."""
    return {"pci.devices": devices(look), "pci.iommu": iommu(look), "pci.acs_redirect": acs_redirect(look)}


def devices(look: Look) -> Fact[list[PciDevice]]:
    """The accelerators on the bus; memory window and NUMA node only of NVIDIA's GPUs, for each is a file more."""
    fact, makers = look.once(functions), look.once(makers_by_vendor)
    if not isinstance(fact, Found):
        return fact
    found: list[PciDevice] = []
    for one in fact.value:
        kind = nvidia_kind(one) or ("other" if shown_by(one, makers) else None)
        if kind:
            more = (window_mib(look, one), numa_node(look, one)) if kind == "gpu" and len(found) < _MOST else (UNSET, UNSET)
            found.append(PciDevice(one.address, one.vendor, one.device, kind, one.driver, *more))
    return Found(found, fact.source)


def window_mib(look: Look, one: PciFunction) -> float | UnsetType:
    """The largest memory window that the firmware or the kernel mapped, MiB; 0 = none."""
    fact = look.text(posixpath.join(BUS, one.address, "resource"), 4096)
    size = parse_resource(fact.value) if isinstance(fact, Found) else None
    return UNSET if size is None else size / (1 << 20)


def numa_node(look: Look, one: PciFunction) -> int | UnsetType | None:
    """The NUMA node whose memory is near; None where the firmware names none, as in most virtual machines."""
    fact = look.line(posixpath.join(BUS, one.address, "numa_node"))
    if not isinstance(fact, Found) or not re.fullmatch(r"-1|\d{1,4}", fact.value):
        return UNSET
    return None if fact.value == "-1" else int(fact.value)


def iommu(look: Look) -> Fact[str]:
    """How the IOMMU treats the first NVIDIA GPU: `translated`, or `passthrough` for an identity mapping."""
    bus, gpus = look.once(functions), nvidia(look, "gpu")
    if isinstance(bus, Unreadable):
        return bus
    if not gpus:
        return Absent("no NVIDIA GPU on the PCI bus")
    group = posixpath.join(BUS, gpus[0].address, "iommu_group")
    if not look.system.exists(group):
        return Absent("no IOMMU group")
    kind = look.line(posixpath.join(group, "type"))
    if not isinstance(kind, Found):
        return Unreadable(kind.why)
    return Found("passthrough" if kind.value == "identity" else "translated", kind.source)


def acs_redirect(look: Look) -> Fact[bool]:
    """Whether a bridge above the GPUs sends what they say to each other through the root (Access Control Services), which slows P2P."""
    bus, gpus = look.once(functions), nvidia(look, "gpu")
    if isinstance(bus, Unreadable):
        return bus
    if len(gpus) < 2:
        return Absent("fewer than two NVIDIA GPUs on the PCI bus")
    seen = False
    for bridge in _bridges(look, gpus[:_MOST]):
        config = look.system.read(f"{bridge}/config", 4096)
        if not isinstance(config, Found):
            return Unreadable(f"{bridge}/config: {config.why}")
        redirects = acs_redirects(config.value)
        if redirects:
            return Found(True, f"{bridge}/config")
        if redirects is None:
            return Unreadable("the bridges' configuration space is shown to root only")
        seen = True
    return Found(False, "configuration space of the bridges above the GPUs") if seen else Unreadable("no bridge above the GPUs is visible")


def _bridges(look: Look, gpus: tuple[PciFunction, ...]) -> Iterator[str]:
    """The folders of the bridges between the GPUs and the root, each once."""
    seen: set[str] = set()
    for gpu in gpus:
        place = look.system.resolve(posixpath.join(BUS, gpu.address))
        parts = place.value[:4096].split("/") if isinstance(place, Found) else []
        for depth in range(len(parts) - 1, 0, -1):
            folder = "/".join(parts[:depth])
            if re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", parts[depth - 1]) and folder not in seen:
                seen.add(folder)
                yield folder
