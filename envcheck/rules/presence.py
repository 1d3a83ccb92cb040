"""Rules on what the PCI bus shows and NVML does not: no GPU, one of another maker, one without a driver."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import PciDevice, known
from envcheck.model.versions import compute_capability, driver_version
from envcheck.rules.driver import first_listing
from envcheck.rules.make import error, remedy
from envcheck.rules.nvml import install_driver, nvidia_devices, nvml
from envcheck.rules.situation import Situation, part, text


def presence(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """No GPU, one of another maker, or one whose driver does not answer."""
    if situation.gpus or not situation.gpus_known:
        return
    if situation.other_makers:
        yield error("non-nvidia-accelerator", names=", ".join(situation.other_makers[:4])[:200])
        return
    devices = [device for device in nvidia_devices(situation) if known(device.kind) == "gpu"]
    if not devices:
        if any(nvml(situation, matrix)):
            return  # a driver that does not work shows no GPU either, so an empty list proves nothing
        # A container sees only the devices it was given, so its host may well have a GPU.
        inside = bool(text(situation.host.container, "kind"))
        yield error("no-gpu", "container" if inside else "detail", remedies=(remedy("hardware", "get-gpu"),))
        return
    yield from _unreachable(situation, matrix, devices)


def _unreachable(situation: Situation, matrix: Matrix, devices: list[PciDevice]) -> Iterator[Finding]:
    """NVIDIA hardware on the PCI bus that NVML does not show."""
    host, count = situation.host, len(devices)
    if not situation.wsl:
        yield from _too_new(situation, matrix, devices)
    bound = sorted({known(device.driver) or "-" for device in devices})
    if part(host.kernel_modules, "nouveau") is True or "nouveau" in bound:
        yield error(
            "nouveau-loaded",
            count=count,
            remedies=(remedy("driver", "replace-nouveau", root=True, branch=matrix.policy.planned_driver_branch),),
        )
    if "vfio-pci" in bound:
        yield error("driver-not-loaded", "vfio", count=count)
    elif situation.driver is None and not any(nvml(situation, matrix)):
        yield error("driver-not-loaded", count=count, remedies=(install_driver(matrix),))
    elif text(host.driver, "nvml") == "ok":
        inside = bool(text(host.container, "kind"))
        yield (
            error("container-gpu-not-injected", "devices", count=count) if inside else error("device-not-detected", "unlisted", count=count)
        )
    # any other state of NVML is told apart by its own rule


def _too_new(situation: Situation, matrix: Matrix, devices: list[PciDevice]) -> Iterator[Finding]:
    """A GPU that the driver, loaded or on disk, does not know yet: that is why NVML does not show it."""
    driver = situation.driver or driver_version(text(situation.host.kernel_modules, "nvidia_on_disk"))
    models = (matrix.gpu_by_pci(known(device.device) or "") for device in devices)
    for model in models:
        if model is None or driver is None:
            continue
        needed = first_listing(matrix, model, compute_capability(model.compute_capability))
        if needed and driver.branch < needed.branch:
            steps = (remedy("driver", "upgrade-driver", root=True, driver=needed.raw),)
            yield error("driver-older-than-gpu", driver=driver.raw, needed=needed.raw, name=model.name, remedies=steps)
            return
