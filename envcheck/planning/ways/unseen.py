"""GPUs that only the PCI bus shows: what the host looks like once a driver that serves them is installed."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import GpuModel
from envcheck.model.host import PciDevice, known
from envcheck.model.versions import DriverVersion, compute_capability
from envcheck.rules.build import Target, dotted
from envcheck.rules.driver_branch import Flavour
from envcheck.rules.driver_install import ours_to_change
from envcheck.rules.nvml import nvidia_devices
from envcheck.rules.situation import Situation, part

# What the kernel says of a driver that is not the right one; all of it is gone with the restart.
_OF_THE_OLD_DRIVER = ("api-mismatch", "module-signature-refused", "nouveau-conflict", "open-module-required", "unsupported-gpu")


def unseen(situation: Situation, matrix: Matrix) -> tuple[GpuModel, ...]:
    """The catalogue's GPUs on a bus whose GPUs no driver shows; () where one is not known, or is passed on to a virtual machine."""
    if situation.gpus or not ours_to_change(situation):
        return ()
    devices = [device for device in nvidia_devices(situation) if known(device.kind) == "gpu"]
    models = [matrix.gpu_by_pci(known(device.device) or "") for device in devices]
    if any(model is None for model in models) or any(known(device.driver) == "vfio-pci" for device in devices):
        return ()
    return tuple(model for model in models if model is not None)


def shown_target(target: Target, models: tuple[GpuModel, ...]) -> Target:
    """What decides about wheels once the GPUs are shown."""
    found = {compute_capability(model.compute_capability) for model in models}
    return msgspec.structs.replace(target, capabilities=tuple(sorted(capability for capability in found if capability)))


def after_install(
    situation: Situation, matrix: Matrix, release: DriverVersion, flavour: Flavour, models: tuple[GpuModel, ...]
) -> dict[str, Any]:
    """The host's facts after installing a driver and restarting."""
    cuda = dotted(matrix.driver_max_cuda(release) or ()) or None
    after: dict[str, Any] = {
        "driver": {"version": release.raw, "cuda": cuda, "nvml": "ok", "flavour": flavour, "library_version": release.raw},
        "gpus": [_listed(place, model) for place, model in enumerate(models)],
        "kernel_modules": {"nouveau": False, "nvidia_on_disk": release.raw, "flavour_on_disk": flavour, "nvidia": True, "nvidia_uvm": True},
        "pci.devices": [_bound(device) for device in _devices(situation)],
    }
    events = part(situation.host.kernel_log, "events")
    if isinstance(events, list):
        after["kernel_log.events"] = [event for event in events if event not in _OF_THE_OLD_DRIVER]
    return after


def _devices(situation: Situation) -> list[PciDevice]:
    found = part(situation.host.pci, "devices")
    return found if isinstance(found, list) else []


def _listed(place: int, model: GpuModel) -> dict[str, Any]:
    found: dict[str, Any] = {"index": place, "name": model.name, "compute_capability": model.compute_capability}
    return found | ({"memory_mib": model.memory_mib} if model.memory_mib else {})


def _bound(device: PciDevice) -> dict[str, Any]:
    """A function of the bus with NVIDIA's module in charge of it."""
    told = {field: value for field in device.__struct_fields__ if (value := known(getattr(device, field))) is not None}
    return told | ({"driver": "nvidia"} if told.get("vendor") == "10de" and told.get("kind") == "gpu" else {})
