"""Accelerators of other makers: by PCI vendor and class, or by the device nodes of their drivers."""

from __future__ import annotations

from collections import Counter

import msgspec

from envcheck.model.fact import Absent, Fact, Found
from envcheck.model.host import Accelerator
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.pci_bus import DISPLAY_3D, DISPLAY_OTHER, DISPLAY_VGA, PROCESSING, PciFunction, functions

FIELDS = ("accelerators",)


class Maker(msgspec.Struct, frozen=True):
    """A maker; `vga` = its VGA-class functions count too, `nodes` = device nodes of its compute driver."""

    vendor: str
    name: str
    vga: bool = False
    nodes: tuple[str, ...] = ()


# Vendor ids as in the public PCI ID registry (pci-ids.ucw.cz). A server's management chip and a processor's own graphics are VGA
# functions too, so that class counts only where a maker sells nothing else in it.
MAKERS: dict[str, Maker] = {
    "1002": Maker("amd", "AMD", nodes=("/dev/kfd",)),
    "19e5": Maker("ascend", "Huawei Ascend", nodes=("/dev/davinci[0-9]*", "/dev/davinci_manager")),
    "8086": Maker("intel", "Intel"),
    "1d94": Maker("hygon", "Hygon DCU"),
    "cabc": Maker("cambricon", "Cambricon MLU", nodes=("/dev/cambricon_dev[0-9]*",)),
    "1ed5": Maker("moore-threads", "Moore Threads", vga=True),
    "1e3e": Maker("iluvatar", "Iluvatar CoreX"),
    "9999": Maker("metax", "MetaX", vga=True),
    "1e36": Maker("enflame", "Enflame"),
    "1da3": Maker("habana", "Intel Gaudi"),
}
_COMPUTE = (DISPLAY_3D, DISPLAY_OTHER, PROCESSING)


def vendor_name(function: PciFunction) -> str | None:
    """The maker's name of an accelerator; None for any other function."""
    maker = MAKERS.get(function.vendor)
    if maker and (function.class_code in _COMPUTE or (maker.vga and function.class_code == DISPLAY_VGA)):
        return maker.name
    return None


def probe(look: Look) -> Facts:
    """The list under `accelerators`; empty where the bus was read and shows none."""
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
    counted = Counter(one.vendor for one in bus.value if vendor_name(one))
    return {MAKERS[vendor].vendor: Accelerator(MAKERS[vendor].vendor, MAKERS[vendor].name, count) for vendor, count in counted.items()}


def _by_node(look: Look) -> dict[str, Accelerator]:
    """Containers show device nodes even where `/sys` is hidden; only nodes with a number can be counted."""
    found: dict[str, Accelerator] = {}
    for maker in MAKERS.values():
        for pattern in maker.nodes:
            nodes = look.system.glob(pattern, 64)
            if nodes and maker.vendor not in found:
                found[maker.vendor] = Accelerator(maker.vendor, maker.name, len(nodes) if "[" in pattern else msgspec.UNSET)
    return found
