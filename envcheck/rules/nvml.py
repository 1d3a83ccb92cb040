"""Rules on NVML: whether the library that vLLM asks for the platform answers."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import PciDevice, known
from envcheck.rules.make import error, remedy
from envcheck.rules.situation import Situation, part, text


def nvml(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """NVML's own state: vLLM decides by it whether this is a CUDA platform."""
    host = situation.host
    state = text(host.driver, "nvml")
    kernel, library = text(host.driver, "version"), text(host.driver, "library_version")
    differs = bool(kernel and library and kernel != library and not situation.wsl)
    if state == "LibRmVersionMismatch" or (differs and state != "ok"):
        variant = "detail" if differs else "stated"
        reboot = remedy("reboot", "reboot", root=True)
        yield error("nvml-driver-library-mismatch", variant, kernel=kernel, library=library, remedies=(reboot,))
        return
    # Without hardware and kernel module, a library that finds no driver is as it should be; one that hangs or fails otherwise is not.
    if state in ("", "ok") or (not kernel and not nvidia_devices(situation) and state in ("LibraryNotFound", "DriverNotLoaded")):
        return
    inside = bool(text(host.container, "kind"))
    if state == "LibraryNotFound" and kernel:
        yield error("container-gpu-not-injected" if inside else "nvml-not-loadable", kernel=kernel)
    elif state in ("LibraryNotFound", "DriverNotLoaded"):
        if kernel or not situation.gpus_known:  # else said already, by the PCI bus
            yield error("driver-not-loaded", "state", nvml=state, remedies=(install_driver(matrix),))
    elif state in ("GpuIsLost", "ResetRequired"):
        yield error("gpu-fault", "state", state=state, remedies=(remedy("reboot", "reset-gpu", root=True),))
    elif state in ("Timeout", "Crashed"):
        yield error("gpu-fault", "hang", state=state, remedies=(remedy("reboot", "reboot", root=True),))
    elif inside and state in ("Unknown", "NoPermission", "OperatingSystem"):
        yield error("container-device-access-lost", state=state, remedies=(remedy("container", "restart-container"),))
    else:
        yield error("device-not-detected", state=state)


def nvidia_devices(situation: Situation) -> list[PciDevice]:
    """NVIDIA's functions on the PCI bus; none where the bus is not known."""
    devices = part(situation.host.pci, "devices")
    return [device for device in devices if known(device.vendor) == "10de"] if isinstance(devices, list) else []


def install_driver(matrix: Matrix) -> Remedy:
    """The driver branch that plans ask for."""
    return remedy("driver", "install-driver", root=True, branch=matrix.policy.planned_driver_branch)
