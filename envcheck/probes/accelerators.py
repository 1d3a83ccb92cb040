"""Accelerators of other makers: by PCI ids and classes, or by the device nodes of their drivers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host import Accelerator
from envcheck.model.maker import MakerSigns
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts, why
from envcheck.probes.look import Look
from envcheck.probes.pci_bus import PciFunction, functions

FIELDS = ("accelerators",)
_DEVICES = 8192  # names in /dev; a large server has some thousand
_DIGITS = "0123456789"
Count = int | UnsetType


def makers_by_vendor(look: Look) -> dict[str, MakerSigns]:
    """The makers that have a PCI vendor id, by that id."""
    return {maker.pci_vendor: maker for maker in look.makers if maker.pci_vendor is not None}


def shown_by(function: PciFunction, makers: Mapping[str, MakerSigns]) -> MakerSigns | None:
    """The maker of an accelerator; None for any other function, such as a processor's own graphics."""
    maker = makers.get(function.vendor)
    if maker and (function.device in maker.devices or f"{function.class_code:04x}" in maker.classes):
        return maker
    return None


def probe(look: Look) -> Facts:
    """The list under `accelerators`; empty where the bus was read and shows none. `accelerators.ID` tells what showed a maker's."""
    if not look.makers:
        return {"accelerators": Unreadable("no makers to look for")}
    facts: Facts = {}
    found: list[Accelerator] = []
    cards, nodes = _cards(look), _nodes(look)
    for maker in look.makers:
        if maker.id in cards or maker.id in nodes:
            listed = _listed(maker, cards.get(maker.id, Counter()), nodes.get(maker.id))
            found += listed
            facts[f"accelerators.{maker.id}"] = Found(len(listed), _shown(look, maker, maker.id in cards, maker.id in nodes))
    facts["accelerators"] = _whole(look, found)
    return facts


def _whole(look: Look, found: list[Accelerator]) -> Fact[list[Accelerator]]:
    """A machine without a PCI bus can hold no card; one whose bus cannot be read, or whose container hides it, might."""
    bus = look.once(functions)
    if found:
        return Found(found, bus.source if isinstance(bus, Found) else "/dev")
    hidden = not isinstance(bus, Found) and (isinstance(bus, Unreadable) or isinstance(look.once(kind), Found))
    return Unreadable(_with_tools(look, why(bus))) if hidden else Found([], why(bus))


def _with_tools(look: Look, reason: str) -> str:
    """A maker's command without a device to command proves nothing, but is worth a word."""
    present = [tool for maker in look.makers for tool in maker.tools if look.full and look.system.which(tool)]
    return f"{reason}; on PATH: {', '.join(present)}" if present else reason


def _listed(maker: MakerSigns, cards: Counter[str], nodes: Count | None) -> list[Accelerator]:
    """One entry a product. A container may be given fewer than the bus shows: then the numbered nodes are those it can use."""
    names = list(cards) or [maker.name]
    if len(names) == 1:
        count: Count = nodes if isinstance(nodes, int) else cards[names[0]] or UNSET
        return [Accelerator(maker.id, names[0], count)]
    return [Accelerator(maker.id, name, cards[name]) for name in names]


def _cards(look: Look) -> dict[str, Counter[str]]:
    """Maker id → product name → number on the bus; a card of two processors shows both."""
    bus = look.once(functions)
    makers = look.once(makers_by_vendor)
    counted: dict[str, Counter[str]] = {}
    for function in bus.value if isinstance(bus, Found) else ():
        maker = shown_by(function, makers)
        if maker:
            counted.setdefault(maker.id, Counter())[maker.devices.get(function.device, maker.name)] += 1
    return counted


def _nodes(look: Look) -> dict[str, Count]:
    """Maker id → number of its nodes in /dev, UNSET where they bear no number.

    Containers show nodes even where `/sys` is hidden. A node without a number is the driver's own: where the bus was read and shows no
    accelerator of the maker, it serves a processor's graphics.
    """
    names = look.once(_device_names)
    bus_read = isinstance(look.once(functions), Found)
    found: dict[str, Count] = {}
    for maker in look.makers:
        numbered = sum(names.get(node[5:], 0) for node in maker.nodes if node.endswith("#"))
        if numbered:
            found[maker.id] = numbered
        elif not bus_read and any(names.get(node[5:]) for node in maker.nodes):
            found[maker.id] = UNSET
    return _one_owner(look, found)


def _device_names(look: Look) -> Counter[str]:
    """Names in /dev, numbers at their end replaced by one `#`, and how many there are of each."""
    names = [path[5:] for path in look.system.glob("/dev/*", _DEVICES)]
    return Counter(stem + "#" if (stem := name.rstrip(_DIGITS)) != name else name for name in names)


def _one_owner(look: Look, found: dict[str, Count]) -> dict[str, Count]:
    """Of makers whose drivers make the same node, the one whose command is here, else the first."""
    for node in {node for maker in look.makers for node in maker.nodes}:
        owners = [maker for maker in look.makers if found.get(maker.id) is UNSET and node in maker.nodes]
        if len(owners) > 1:
            owner = next((maker for maker in owners if any(look.system.which(tool) for tool in maker.tools)), owners[0])
            found = {name: count for name, count in found.items() if name == owner.id or name not in {maker.id for maker in owners}}
    return found


def _shown(look: Look, maker: MakerSigns, on_bus: bool, in_dev: bool) -> str:
    places = [f"PCI vendor {maker.pci_vendor}"] if on_bus else []
    names = look.once(_device_names)
    places += [node for node in maker.nodes if names.get(node[5:])] if in_dev else []
    places += [f"{tool} on PATH" for tool in maker.tools if look.full and look.system.which(tool)]
    return ", ".join(places)
