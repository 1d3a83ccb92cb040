"""Rules on NVML: whether the library that vLLM asks for the platform answers."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import PciDevice, known
from envcheck.rules.make import error, remedy
from envcheck.rules.situation import Situation, in_container, part, text

# Failures of ours before NVML was asked: they say nothing of the host, whose GPUs are then not known.
_OURS = frozenset({"ForkFailed", "BindingMissing", "BindingBroken"})


def nvml(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """NVML's own state: vLLM decides by it whether this is a CUDA platform."""
    host = situation.host
    state = text(host.driver, "nvml")
    kernel, library = text(host.driver, "version"), text(host.driver, "library_version")
    differs = bool(kernel and library and kernel != library and not situation.wsl)
    said = state == "LibRmVersionMismatch" or (state != "ok" and "api-mismatch" in events(situation))
    if said or (differs and state != "ok"):
        variant = "detail" if differs else "stated"
        reboot = remedy("reboot", "reboot", "sudo reboot", root=True)
        yield error("nvml-driver-library-mismatch", variant, kernel=kernel, library=library, remedies=(reboot,))
        return
    # Without hardware and kernel module, a library that finds no driver is as it should be; one that hangs or fails otherwise is not.
    if state in ("", "ok") or (not kernel and not nvidia_devices(situation) and state in ("LibraryNotFound", "DriverNotLoaded")):
        return
    if state not in _OURS:
        yield from _failed(situation, matrix, state, kernel)


def _failed(situation: Situation, matrix: Matrix, state: str, kernel: str) -> Iterator[Finding]:
    from envcheck.rules.driver_install import install_driver  # noqa: PLC0415  # only for a driver that will not do

    inside = in_container(situation)
    if state == "LibraryNotFound" and kernel:
        yield error("container-gpu-not-injected" if inside else "nvml-not-loadable", kernel=kernel)
    elif state in ("LibraryNotFound", "DriverNotLoaded"):
        if kernel or not situation.gpus_known:  # else said already, by the PCI bus
            yield error("driver-not-loaded", "state", nvml=state, remedies=(install_driver(situation, matrix),))
    elif state in ("GpuIsLost", "ResetRequired"):
        yield error("gpu-fault", "state", state=state, remedies=(remedy("reboot", "reset-gpu", root=True),))
    elif state in ("Timeout", "Crashed"):
        yield error("gpu-fault", "hang", state=state, remedies=(remedy("reboot", "reboot", "sudo reboot", root=True),))
    elif inside and state in ("Unknown", "NoPermission", "OperatingSystem"):
        if device_files(situation) != 0:  # none at all were never given
            yield error("container-device-access-lost", state=state, remedies=(remedy("container", "restart-container"),))
    elif state == "NoPermission":
        yield error("device-not-detected", "permission", state=state)
    else:
        yield error("device-not-detected", state=state)


def nvidia_devices(situation: Situation) -> list[PciDevice]:
    """NVIDIA's functions on the PCI bus; none where the bus is not known."""
    devices = part(situation.host.pci, "devices")
    return [device for device in devices if known(device.vendor) == "10de"] if isinstance(devices, list) else []


def device_files(situation: Situation) -> int | None:
    """How many GPUs' device files are in this container, WSL's one among them; None = not known."""
    found = part(situation.host.container, "devices")
    if not isinstance(found, list):
        return None
    return len([path for path in found if path == "/dev/dxg" or (path.startswith("/dev/nvidia") and path[11:].isdigit())])


def events(situation: Situation) -> list[str]:
    """What the kernel's log says of the GPUs; none where it was not read."""
    found = part(situation.host.kernel_log, "events")
    return found if isinstance(found, list) else []
