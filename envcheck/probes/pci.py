"""The PCI view of the host: accelerators of any maker, and how the IOMMU treats them."""

from __future__ import annotations

import posixpath
from typing import Any

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import PciDevice
from envcheck.probes.accelerators import makers_by_vendor, shown_by
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.pci_bus import BUS, functions, nvidia, nvidia_kind

FIELDS = ("pci.devices", "pci.iommu", "pci.acs_redirect")


def probe(look: Look) -> Facts:
    """All facts under `pci`."""
    fact: Fact[Any] = look.once(functions)
    makers = look.once(makers_by_vendor)
    if isinstance(fact, Found):
        kept = [(one, nvidia_kind(one) or ("other" if shown_by(one, makers) else None)) for one in fact.value]
        fact = Found([PciDevice(one.address, one.vendor, one.device, kind, one.driver) for one, kind in kept if kind], fact.source)
    return {"pci.devices": fact, "pci.iommu": iommu(look), "pci.acs_redirect": Unreadable("needs the bridges' configuration space")}


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
