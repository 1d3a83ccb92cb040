"""Rules on what the PCI bus shows and NVML does not: no GPU, one of another maker, one without a driver."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import GpuModel
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import PciDevice, known
from envcheck.model.versions import compute_capability, driver_version
from envcheck.rules.driver import upgrade
from envcheck.rules.driver_branch import first_listing
from envcheck.rules.driver_install import install_driver
from envcheck.rules.make import error, remedy
from envcheck.rules.module import not_loaded, obstacles
from envcheck.rules.nvml import events, nvidia_devices, nvml
from envcheck.rules.situation import Situation, in_container, part, text


def presence(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """No GPU, one of another maker, or one whose driver does not answer."""
    if situation.gpus or not situation.gpus_known:
        return
    if situation.other_makers:
        yield error("non-nvidia-accelerator", names=", ".join(situation.other_makers[:4])[:200])
        return
    devices = [device for device in nvidia_devices(situation) if known(device.kind) == "gpu"]
    if devices:
        yield from _unreachable(situation, matrix, devices)
    elif not any(nvml(situation, matrix)):  # a driver that does not work shows no GPU either, so an empty list proves nothing
        # A container sees only the devices it was given, so its host may well have a GPU; under WSL Windows has the driver.
        variant = "container" if in_container(situation) else "wsl" if situation.wsl else "detail"
        yield error("no-gpu", variant, remedies=(*_started_with(situation), remedy("hardware", "get-gpu")))


def no_driver(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs that are stated, on a host whose driver is stated to be absent."""
    if situation.host.driver is None and situation.usable_gpus and not situation.wsl:
        yield not_loaded(situation, matrix, len(situation.usable_gpus))


def _started_with(situation: Situation) -> Iterator[Remedy]:
    """A container is given its GPUs when it is started."""
    if in_container(situation):
        from envcheck.rules.injection import start_again  # noqa: PLC0415  # for containers alone

        yield start_again(situation)


def _unreachable(situation: Situation, matrix: Matrix, devices: list[PciDevice]) -> Iterator[Finding]:
    """NVIDIA hardware on the PCI bus that NVML does not show."""
    host, count = situation.host, len(devices)
    if not situation.wsl:
        yield from _too_new(situation, matrix, devices)
    bound = {known(device.driver) or "-" for device in devices}
    if part(host.kernel_modules, "nouveau") is True or "nouveau" in bound or "nouveau-conflict" in events(situation):
        yield error("nouveau-loaded", count=count, remedies=(install_driver(situation, matrix, "replace-nouveau"),))
    answered = text(host.driver, "nvml") == "ok"
    if "vfio-pci" in bound and not in_container(situation):
        yield error("driver-not-loaded", "vfio", count=count)
        return
    found = [] if in_container(situation) else list(obstacles(situation, matrix, devices))
    yield from found
    if situation.driver is None and not answered and not any(nvml(situation, matrix)):
        yield not_loaded(situation, matrix, count)
    elif answered and in_container(situation):
        yield error("container-gpu-not-injected", "devices", count=count)
    elif answered and not found:
        yield error("device-not-detected", "firmware" if "firmware-failed" in events(situation) else "unlisted", count=count)
    # any other state of NVML is told apart by its own rule


def _too_new(situation: Situation, matrix: Matrix, devices: list[PciDevice]) -> Iterator[Finding]:
    """A GPU that the driver, loaded or on disk, does not know yet: that is why NVML does not show it."""
    driver = situation.driver or driver_version(text(situation.host.kernel_modules, "nvidia_on_disk"))
    for model in _models(matrix, devices) if driver else ():
        needed = first_listing(matrix, model, compute_capability(model.compute_capability))
        if needed and driver and driver.branch < needed.branch:
            steps = (upgrade(situation, matrix, needed),)
            yield error("driver-older-than-gpu", driver=driver.raw, needed=needed.raw, name=model.name, remedies=steps)
            return


def _models(matrix: Matrix, devices: list[PciDevice]) -> Iterator[GpuModel]:
    """The catalogue's GPUs behind PCI devices."""
    yield from (model for device in devices if (model := matrix.gpu_by_pci(known(device.device) or "")) is not None)
