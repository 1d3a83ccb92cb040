"""How an accelerator of another maker than NVIDIA is told on a host: the matrix holds the signs, the probe applies them."""

from __future__ import annotations

import msgspec


class MakerSigns(msgspec.Struct, frozen=True):
    """A maker's id and name, and what shows its accelerators.

    `pci_vendor` = vendor id on the PCI bus, four lower-case hex digits, None = not known. `vga` = its VGA-class functions count too.
    `nodes` = device nodes of its compute driver, as glob patterns; one with a set such as `[0-9]` names one node an accelerator.
    """

    id: str
    name: str
    pci_vendor: str | None = None
    vga: bool = False
    nodes: tuple[str, ...] = ()
