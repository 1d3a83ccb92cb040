"""How an accelerator of another maker than NVIDIA is told on a host: the matrix holds the signs, the probe applies them."""

import msgspec


class MakerSigns(msgspec.Struct, frozen=True):
    """A maker's id and name, and what shows its accelerators.

    `pci_vendor` = vendor id on the PCI bus, four lower-case hex digits, None = not known. `devices` = its accelerators' device ids →
    product names. `classes` = PCI classes (four hex digits) whose functions are accelerators of this maker also when not listed: a
    processor's own graphics, a management chip or a small neural unit may share them. `nodes` = device nodes of its compute driver, `#` at
    the end stands for an accelerator's number. `tools` = its management commands.
    """

    id: str
    name: str
    pci_vendor: str | None = None
    devices: dict[str, str] = {}
    classes: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
