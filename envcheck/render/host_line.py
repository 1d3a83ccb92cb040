"""The host in one line: GPUs, driver and its CUDA level, operating system, Python, memory, cloud."""

from __future__ import annotations

from msgspec import UnsetType

from envcheck.model.host import Driver, Gpu, HostReport, OperatingSystem, known
from envcheck.render.catalogue import Catalogue, clean

SEPARATOR = " · "


def memory_gib(n_mib: float | UnsetType | None) -> str | None:
    """MiB as GiB with at most one decimal."""
    value = known(n_mib)
    return f"{value / 1024:.1f}".removesuffix(".0") if value is not None else None


def gpu_text(gpu: Gpu, catalogue: Catalogue) -> str:
    """`NVIDIA A10 (22.5 GiB, compute capability 8.6)`."""
    name = clean(known(gpu.name) or catalogue.say("host.gpu-unnamed"))
    size = memory_gib(gpu.memory_mib) or memory_gib(gpu.cuda_memory_mib)
    facts = [f"{size} GiB"] if size else []
    if capability := known(gpu.compute_capability):
        facts.append(catalogue.say("host.capability", capability=capability))
    if known(gpu.error):
        facts.append(catalogue.say("host.gpu-error", error=known(gpu.error)))
    return f"{name} ({', '.join(facts)})" if facts else name


def gpu_line(host: HostReport, catalogue: Catalogue) -> str:
    """`2 x NVIDIA A10 (22.5 GiB, compute capability 8.6)`, equal cards counted together."""
    if isinstance(host.gpus, UnsetType):
        return catalogue.say("host.gpus-unknown")
    counted: dict[str, int] = {}
    for gpu in host.gpus or ():
        text = gpu_text(gpu, catalogue)
        counted[text] = counted.get(text, 0) + 1
    if counted:
        return " + ".join(f"{count} x {text}" for text, count in counted.items())
    if count := _on_bus(host):
        return catalogue.say(f"host.gpus-on-bus.{'one' if count == 1 else 'many'}", count=count)
    others = [clean(known(other.name) or known(other.vendor) or "?") for other in known(host.accelerators) or ()]
    return catalogue.say("host.other-accelerators", names=tuple(others)) if others else catalogue.say("host.no-gpu")


def _on_bus(host: HostReport) -> int:
    """NVIDIA GPUs on the PCI bus, whatever the driver says of them."""
    pci = known(host.pci)
    devices = known(pci.devices) if pci else None
    return sum(known(device.vendor) == "10de" and known(device.kind) == "gpu" for device in devices or ())


def _driver(driver: Driver | UnsetType | None, catalogue: Catalogue) -> str:
    if driver is None or (not isinstance(driver, UnsetType) and driver.version is None):
        return catalogue.say("host.no-driver")
    version = known(driver.version) if not isinstance(driver, UnsetType) else None
    cuda = known(driver.cuda) if not isinstance(driver, UnsetType) else None
    if version and cuda:
        return catalogue.say("host.driver-cuda", version=version, cuda=cuda)
    if version:
        return catalogue.say("host.driver", version=version)
    return catalogue.say("host.driver-unknown-cuda", cuda=cuda) if cuda else catalogue.say("host.driver-unknown")


def _system(system: OperatingSystem | UnsetType | None) -> str | None:
    if isinstance(system, UnsetType) or system is None:
        return None
    name = known(system.name) or " ".join(part for part in (known(system.id), known(system.version)) if part)
    parts = [clean(part) for part in (name, known(system.arch)) if part]
    glibc = known(system.glibc)
    text = " ".join(parts)
    return (f"{text}, glibc {clean(glibc)}" if text else f"glibc {clean(glibc)}") if glibc else text or None


def host_line(host: HostReport, catalogue: Catalogue, cloud_name: str | None = None) -> str:
    """The host line; what is not known of GPU and driver is said, other unknown facts are left out."""
    parts = [gpu_line(host, catalogue), _driver(host.driver, catalogue), _system(host.os)]
    python = known(host.python)
    if python and (version := known(python.version)):
        parts.append(f"Python {clean(version)}")
    memory = known(host.memory)
    if memory and (ram := memory_gib(memory.ram_mib)):
        parts.append(f"RAM {ram} GiB")
    cloud = known(host.cloud)
    provider = (known(cloud.provider) or known(cloud.platform)) if cloud else None
    parts.append(clean(cloud_name or provider) if provider else None)
    return SEPARATOR.join(part for part in parts if part)
