"""Accelerators of other makers: by PCI vendor and class, or by the device nodes of their drivers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import UNSET

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import Accelerator
from envcheck.model.maker import MakerSigns
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.pci_bus import DISPLAY_3D, DISPLAY_OTHER, DISPLAY_VGA, PROCESSING, PciFunction, functions

FIELDS = ("accelerators",)
_COMPUTE = (DISPLAY_3D, DISPLAY_OTHER, PROCESSING)


def makers_by_vendor(look: Look) -> dict[str, MakerSigns]:
    """The makers that have a PCI vendor id, by that id."""
    return {maker.pci_vendor: maker for maker in look.makers if maker.pci_vendor is not None}


def shown_by(function: PciFunction, makers: Mapping[str, MakerSigns]) -> MakerSigns | None:
    """The maker of an accelerator; None for any other function.

    A server's management chip and a processor's own graphics are VGA functions too, so that class counts only for makers that sell
    nothing else in it.
    """
    maker = makers.get(function.vendor)
    if maker and (function.class_code in _COMPUTE or (maker.vga and function.class_code == DISPLAY_VGA)):
        return maker
    return None


def probe(look: Look) -> Facts:
    """The list under `accelerators`; empty where the bus was read and shows none."""
    if not look.makers:
        return {"accelerators": Unreadable("no makers to look for")}
    found = {**_by_node(look), **_on_bus(look)}
    bus = look.once(functions)
    fact: Fact[list[Accelerator]] = Found(list(found.values()), bus.source if isinstance(bus, Found) else "/dev")
    if not found and not isinstance(bus, Found):
        # A machine without a PCI bus can hold no such card; one whose bus cannot be read might.
        fact = Found([], bus.why) if isinstance(bus, Absent) else bus
    return {"accelerators": fact}


def _on_bus(look: Look) -> dict[str, Accelerator]:
    bus = look.once(functions)
    if not isinstance(bus, Found):
        return {}
    makers = look.once(makers_by_vendor)
    counted = Counter(one.vendor for one in bus.value if shown_by(one, makers))
    return {makers[vendor].id: Accelerator(makers[vendor].id, makers[vendor].name, count) for vendor, count in counted.items()}


def _by_node(look: Look) -> dict[str, Accelerator]:
    """Containers show device nodes even where `/sys` is hidden; only nodes with a number can be counted."""
    found: dict[str, Accelerator] = {}
    for maker in look.makers:
        for pattern in maker.nodes:
            nodes = look.system.glob(pattern, 64)
            if nodes and maker.id not in found:
                found[maker.id] = Accelerator(maker.id, maker.name, len(nodes) if "[" in pattern else UNSET)
    return found
