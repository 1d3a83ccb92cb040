"""The functions on the PCI bus, seen without any driver: one `uevent` file each tells class, ids and bound driver."""

from __future__ import annotations

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.look import Look

BUS = "/sys/bus/pci/devices"
NVIDIA = "10de"
DISPLAY_VGA, DISPLAY_3D, DISPLAY_OTHER, PROCESSING = 0x0300, 0x0302, 0x0380, 0x1200  # class codes of the PCI Code and ID Assignment
BRIDGE_OTHER = 0x0680  # how an NVSwitch presents itself
_LIMIT = 4096  # functions on the bus; a large server has some five hundred


class PciFunction(msgspec.Struct, frozen=True):
    """One function: address `0000:3b:00.0`, ids in lower-case hex, class code without its interface byte."""

    address: str
    vendor: str
    device: str
    class_code: int
    driver: str | None


def parse_uevent(text: str) -> PciFunction | None:
    """A function from its `uevent` file; None where a needed line is missing."""
    values = dict(line.split("=", 1) for line in text.splitlines()[:20] if "=" in line)
    vendor, colon, device = values.get("PCI_ID", "").lower().partition(":")
    try:
        class_code = int(values["PCI_CLASS"], 16) >> 8
    except (KeyError, ValueError):
        return None
    address = values.get("PCI_SLOT_NAME", "")
    return PciFunction(address, vendor, device, class_code, values.get("DRIVER")) if colon and address else None


def functions(look: Look) -> Fact[tuple[PciFunction, ...]]:
    """Every function on the bus."""
    folders = look.system.glob(f"{BUS}/*", _LIMIT)
    if not folders:
        return Absent("no PCI bus") if not look.system.exists(BUS) else Absent("nothing on the PCI bus")
    texts = [look.text(f"{folder}/uevent", 1024) for folder in folders]
    read = [parse_uevent(fact.value) for fact in texts if isinstance(fact, Found)]
    if not read:
        return next((fact for fact in texts if isinstance(fact, Unreadable)), Unreadable(f"nothing readable under {BUS}"))
    return Found(tuple(function for function in read if function), BUS)


def nvidia_kind(function: PciFunction) -> str | None:
    """`gpu`, `nvswitch`, or None for what is neither (sound, USB, other makers' parts)."""
    if function.vendor != NVIDIA:
        return None
    if function.class_code in (DISPLAY_VGA, DISPLAY_3D):
        return "gpu"
    return "nvswitch" if function.class_code == BRIDGE_OTHER else None


def nvidia(look: Look, kind: str) -> tuple[PciFunction, ...]:
    """NVIDIA's functions of a kind; empty also where the bus cannot be read."""
    fact = look.once(functions)
    return tuple(one for one in fact.value if nvidia_kind(one) == kind) if isinstance(fact, Found) else ()


_MEMORY, _UNSET = 0x200, 0x20000000  # IORESOURCE_MEM, IORESOURCE_UNSET of the kernel's ioport.h
_BARS = 6  # the lines of `resource` after these are the ROM's, and those of virtual functions


def parse_resource(text: str) -> int | None:
    """The size in bytes of the largest mapped memory window in a function's `resource` file; 0 = none is, None = not such a file."""
    sizes = []
    for line in text.splitlines()[:_BARS]:
        try:
            start, end, flags = (int(word, 16) for word in line.split())
        except ValueError:
            return None
        sizes.append(end - start + 1 if start and end >= start and flags & _MEMORY and not flags & _UNSET else 0)
    return max(sizes) if sizes else None


_CONFIG_BYTES, _EXTENDED = 4096, 0x100
_ACS, _REDIRECTS = 0x000D, 0b1100  # the capability's number; its control bits for requests and completions between peers


def acs_redirects(config: bytes) -> bool | None:
    """Whether a bridge's configuration space (4096 bytes) switches on ACS redirection; None where only its first part was shown."""
    if len(config) < _CONFIG_BYTES:
        return None
    at, seen = _EXTENDED, set[int]()
    while _EXTENDED <= at <= _CONFIG_BYTES - 8 and at not in seen:
        seen.add(at)
        header = int.from_bytes(config[at : at + 4], "little")
        if header & 0xFFFF == _ACS:
            return bool(int.from_bytes(config[at + 6 : at + 8], "little") & _REDIRECTS)
        at = header >> 20
    return False
