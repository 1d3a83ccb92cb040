"""Rules on NVIDIA's kernel module: what keeps it from loading, or from driving the GPU that is there."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import PciDevice, known
from envcheck.rules.driver_install import (
    any_system,
    as_root,
    driver_commands,
    headers_commands,
    install_driver,
    planned_branch,
)
from envcheck.rules.make import error, remedy
from envcheck.rules.nvml import events, nvidia_devices
from envcheck.rules.situation import Situation, in_container, part, text


def obstacles(situation: Situation, matrix: Matrix, devices: list[PciDevice]) -> Iterator[Finding]:
    """What keeps the module from driving GPUs of the bus, in the order in which the kernel meets it."""
    yield from _refused(situation, matrix)
    yield from _unmapped(situation, devices)
    yield from _wrong_kind(situation, matrix, [model for device in devices if (model := _architecture(matrix, device))])


def wrong_module(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Listed GPUs, of a host document, that the kind of module at hand does not drive, unless NVML shows that it does."""
    if not situation.gpus or text(situation.host.driver, "nvml") == "ok" or not _flavour(situation):
        return
    named = [gpu.model.architecture for gpu in situation.gpus if gpu.model is not None]
    if len(named) == len(situation.gpus):
        yield from _wrong_kind(situation, matrix, named)


def partly_unmapped(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs of the bus that NVML lists only in part, because the firmware gave some no window."""
    if not situation.gpus or in_container(situation):
        return
    devices = [device for device in nvidia_devices(situation) if known(device.kind) == "gpu"]
    if len(devices) > len(situation.gpus):
        yield from _unmapped(situation, devices)


def not_loaded(situation: Situation, matrix: Matrix, count: int) -> Finding:
    """The module is not loaded: whether it was never built for this kernel, only waits, or was never installed."""
    if in_container(situation):
        return error("driver-not-loaded", "container", count=count)
    modules = situation.host.kernel_modules
    on_disk = text(modules, "nvidia_on_disk")
    if on_disk:
        load = remedy("service", "load-module", "sudo modprobe nvidia", root=True)
        return error("driver-not-loaded", "on-disk", count=count, driver=on_disk[:40], remedies=(load,))
    library = text(situation.host.driver, "library_version")
    if library and _is_absent(modules, "nvidia_on_disk"):
        kernel = text(situation.host.os, "kernel")[:80]
        return error("driver-not-loaded", "unbuilt", count=count, library=library[:40], kernel=kernel, remedies=_build(situation, matrix))
    return error("driver-not-loaded", count=count, remedies=(install_driver(situation, matrix),))


def _is_absent(holder: object, name: str) -> bool:
    return getattr(holder, name, ...) is None


def _build(situation: Situation, matrix: Matrix) -> tuple[Remedy, ...]:
    """Build the module for the running kernel: its headers first, where the distribution's command for them is known."""
    build = as_root(situation, "sudo dkms autoinstall", "sudo modprobe nvidia")
    return (remedy("driver", "build-module", *headers_commands(situation, matrix), *build, root=True),)


def _refused(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Secure Boot keeps an unsigned module out: said by the kernel, or the likeliest reason for one that is there and not loaded."""
    logged = "module-signature-refused" in events(situation)
    modules = situation.host.kernel_modules
    waits = situation.driver is None and bool(text(modules, "nvidia_on_disk")) and part(modules, "nvidia") is not True
    if logged or (situation.host.secure_boot is True and waits):
        system = any_system(situation, matrix)
        enrol = as_root(situation, f"sudo mokutil --import {system.signing_key}", "sudo reboot") if system and system.signing_key else ()
        steps = (
            remedy("reboot", "enrol-key", *enrol, root=True),
            remedy("driver", "signed-driver", root=True),
            remedy("hardware", "secure-boot-off"),
        )
        yield error("secure-boot-blocks-module", "detail" if logged else "likely", remedies=steps)


def _unmapped(situation: Situation, devices: list[PciDevice]) -> Iterator[Finding]:
    """A GPU whose memory the firmware gave no address."""
    places = [known(device.address) or "?" for device in devices if known(device.bar_mib) == 0]
    if places or "bar-not-mapped" in events(situation):
        where = ", ".join(places[:8])[:200]
        yield error("pci-bar-not-mapped", "detail" if places else "log", places=where, remedies=(remedy("hardware", "map-bar"),))


def _flavour(situation: Situation) -> str:
    """Kind of the loaded module, else of the one on disk; "" = not known."""
    host = situation.host
    return text(host.driver, "flavour") or text(host.kernel_modules, "flavour_on_disk")


def _architecture(matrix: Matrix, device: PciDevice) -> str | None:
    model = matrix.gpu_by_pci(known(device.device) or "")
    return model.architecture if model else None


def _wrong_kind(situation: Situation, matrix: Matrix, architectures: list[str]) -> Iterator[Finding]:
    """An architecture that takes only the other kind of module."""
    have = _flavour(situation)
    wanted = {name: only for name in architectures if (only := matrix.drivers.only_module(name))}
    clashing = [name for name, only in wanted.items() if have and only != have]
    branch = planned_branch(situation, matrix)
    if "open-module-required" in events(situation) or any(wanted[name] == "open" for name in clashing):
        step = remedy("driver", "open-module", *driver_commands(situation, matrix, branch, "open"), root=True, branch=branch)
        name = next((name for name in clashing if wanted[name] == "open"), "")
        yield error("open-kernel-module-required", "detail" if name else "log", name=name, remedies=(step,))
    elif clashing:
        commands = driver_commands(situation, matrix, branch, "proprietary")
        step = remedy("driver", "proprietary-module", *commands, root=True, branch=branch)
        yield error("device-not-detected", "closed-module", name=clashing[0], remedies=(step,))
