"""What joins several nodes: InfiniBand, RoCE and EFA ports, GPUDirect RDMA, NVLink across hosts."""

from __future__ import annotations

import posixpath

from msgspec import UNSET, UnsetType

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host_parts import NetworkPort
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look

FIELDS = ("interconnect.ports", "interconnect.peermem", "interconnect.devices", "interconnect.imex_channels")
_CLASS = "/sys/class/infiniband"
_MODULES = ("nvidia_peermem", "nv_peer_mem")  # the driver's own, and the older one of the network card's maker
_IMEX = "/dev/nvidia-caps-imex-channels"
_MOST_PORTS = 32
_MOST_CHANNELS = 2048  # the driver's own bound


def probe(look: Look) -> Facts:
    """All facts under `interconnect`; a handful of `exists` where there is nothing of it."""
    return {
        "interconnect.ports": ports(look),
        "interconnect.peermem": peermem(look),
        "interconnect.devices": Found(look.system.exists("/dev/infiniband"), "/dev/infiniband"),
        "interconnect.imex_channels": Found(imex_channels(look), _IMEX),
    }


def ports(look: Look) -> Fact[list[NetworkPort]]:
    """Every RDMA port, at most 32; the list is empty where there is none."""
    if not look.system.exists(_CLASS):
        return Found([], _CLASS) if look.system.exists("/sys/class") else Unreadable("/sys/class is not visible")
    folders = look.system.glob(f"{_CLASS}/*/ports/*", _MOST_PORTS)
    return Found([_port(look, folder) for folder in folders], _CLASS)


def _port(look: Look, folder: str) -> NetworkPort:
    device, _, number = folder[len(_CLASS) + 1 :].partition("/ports/")
    state, rate, layer = (_said(look, f"{folder}/{name}") for name in ("state", "rate", "link_layer"))
    speed = parse_rate(rate)
    return NetworkPort(
        device=device[:60],
        port=int(number) if number.isdecimal() and len(number) < 6 else UNSET,
        kind=_kind(look, device, layer),
        state=parse_state(state) or UNSET,
        rate_gbps=UNSET if speed is None else speed,
    )


def _said(look: Look, path: str) -> str:
    fact = look.line(path)
    return fact.value if isinstance(fact, Found) else ""


def parse_state(text: str) -> str:
    """`4: ACTIVE` → `ACTIVE`."""
    return text.rpartition(":")[2].strip()[:40]


def parse_rate(text: str) -> float | None:
    """`400 Gb/sec (4X NDR)` → 400.0, in Gbit/s; None where it is none."""
    number, _, rest = text.partition(" ")
    whole, _, part = number.partition(".")
    plain = len(number) < 12 and whole.isdecimal() and (part.isdecimal() or part == "")
    return float(number) if plain and rest.startswith("Gb/sec") else None


def _kind(look: Look, device: str, layer: str) -> str | UnsetType:
    """The link layer; Amazon's cards state none of both, and are known by their driver, or by their name before it was made steady."""
    if layer in ("InfiniBand", "Ethernet"):
        return "infiniband" if layer == "InfiniBand" else "roce"
    if device.startswith("efa_"):
        return "efa"
    driver = look.system.resolve(f"{_CLASS}/{device}/device/driver")
    return "efa" if isinstance(driver, Found) and posixpath.basename(driver.value) == "efa" else UNSET


def peermem(look: Look) -> Fact[bool]:
    """Whether a module for GPUDirect RDMA through peer memory is loaded; newer kernels can do without (dma-buf)."""
    for name in _MODULES:
        if look.system.exists(f"/sys/module/{name}"):
            return Found(True, f"/sys/module/{name}")
    return Found(False, "/sys/module") if look.system.exists("/sys/module") else Unreadable("/sys/module is not visible")


def imex_channels(look: Look) -> int:
    """Channels for memory shared over multi-node NVLink."""
    return len(look.system.glob(f"{_IMEX}/channel*", _MOST_CHANNELS)) if look.system.exists(_IMEX) else 0
