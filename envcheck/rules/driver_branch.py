"""Which driver branches serve all GPUs of a host, with which kind of kernel module, and which releases of them are known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import GpuModel
from envcheck.model.host import known
from envcheck.model.versions import ComputeCapability, DriverVersion, compute_capability, driver_version
from envcheck.rules.kernel import kernel_of
from envcheck.rules.situation import Situation, part, text

Flavour = Literal["open", "proprietary"]


class Cards(msgspec.Struct, frozen=True):
    """The NVIDIA GPUs of a host, the ones hidden from the process included; `models` = those that the catalogue knows."""

    models: tuple[GpuModel, ...]
    capabilities: tuple[ComputeCapability, ...]


def cards_of(situation: Situation, matrix: Matrix) -> Cards:
    """All that a driver of the host must serve: what the document lists, else what stands on the PCI bus."""
    listed = known(situation.host.gpus) or []
    names = ((known(gpu.name) or "")[:200] for gpu in listed)
    models = [model for name in names if name and (model := matrix.gpu(name)) is not None]
    stated = [compute_capability(known(gpu.compute_capability) or "") for gpu in listed]
    if not listed:
        devices = part(situation.host.pci, "devices")
        ids = [known(one.device) or "" for one in devices if known(one.vendor) == "10de"] if isinstance(devices, list) else []
        models = [model for device in ids if (model := matrix.gpu_by_pci(device)) is not None]
    of_models = [compute_capability(model.compute_capability) for model in models]
    return Cards(tuple({model.name: model for model in models}.values()), tuple(sorted({one for one in (*stated, *of_models) if one})))


def first_listing(matrix: Matrix, model: GpuModel, capability: ComputeCapability | None) -> DriverVersion | None:
    """The oldest driver that lists a GPU; None where the listings do not tell, as with cards older than they are."""
    decides_from = matrix.capability_trait("driver-listings-decide-from")
    if not model.first_driver or capability is None or decides_from is None or capability < decides_from:
        return None
    return driver_version(min(model.first_driver.items(), key=lambda entry: int(entry[0]))[1])


@lru_cache(maxsize=64)
def first_of_generation(matrix: Matrix, capability: ComputeCapability | None) -> DriverVersion | None:
    """The oldest driver that lists any GPU of a compute capability."""
    found = (
        first_listing(matrix, model, capability) for model in matrix.gpus if compute_capability(model.compute_capability) == capability
    )
    return min((listed for listed in found if listed), key=lambda listed: listed.parsed, default=None)


def flavour_of(cards: Cards, matrix: Matrix) -> Flavour | None:
    """The kind of kernel module that drives all of them, the open one where both do.

    None where no kind drives all, and for the GPU of a system on a chip, whose driver comes with the board's own system.
    """
    if any(model.kind == "soc" for model in cards.models) or not matrix.integrated.isdisjoint(cards.capabilities):
        return None
    named = {model.architecture for model in cards.models}
    named |= {
        entry.architecture
        for entry in matrix.cuda.architectures
        if any(compute_capability(text) in cards.capabilities for text in entry.capabilities)
    }
    only = {kind for name in named if (kind := matrix.drivers.only_module(name))}
    if len(only) > 1:
        return None
    return "proprietary" if only == {"proprietary"} else "open"


def last_branch(cards: Cards, matrix: Matrix) -> int | None:
    """The last branch that serves all of them; None while branches still do."""
    return min((last for one in cards.capabilities if (last := matrix.last_branch(one)) is not None), default=None)


def serving_branches(situation: Situation, matrix: Matrix, cards: Cards, needed: int = 0) -> Iterator[int]:
    """The supported branches from `needed` on that serve every GPU, ascending; a branch whose end is past or not known is none."""
    last, flavour = last_branch(cards, matrix), flavour_of(cards, matrix)
    listed = [first_listing(matrix, model, compute_capability(model.compute_capability)) for model in cards.models]
    listed += [first_of_generation(matrix, one) for one in cards.capabilities] if not cards.models else []
    lowest = max((found.branch for found in listed if found), default=0)
    for entry in sorted(matrix.cuda.branches, key=lambda entry: entry.branch):
        if entry.ended is False and entry.branch >= max(needed, lowest) and (last is None or entry.branch <= last) and flavour:
            yield entry.branch


def known_release(matrix: Matrix, branch: int, cards: Cards) -> DriverVersion | None:
    """The newest release of a branch that the records name, if it lists every GPU; None where none is named."""
    named = [entry.bundled_driver for entry in matrix.cuda.toolkits if entry.bundled_driver]
    named += [driver for model in cards.models for driver in model.first_driver.values()]
    found = [version for name in named if (version := driver_version(name)) is not None and version.branch == branch]
    floor = matrix.driver_security.floor(branch)
    found += [floor.fixed] if floor else []
    return max(found, key=lambda version: version.parsed, default=None)


def kernel_too_old(situation: Situation, matrix: Matrix, branch: int) -> bool:
    """Whether the running kernel is below what a branch takes."""
    kernel, floor = kernel_of(situation), matrix.drivers.kernel_floor(branch)
    return kernel is not None and floor is not None and kernel[:2] < floor


def on_nvswitch(situation: Situation) -> bool:
    """Whether the GPUs hang on NVSwitches, so that CUDA waits for the fabric manager."""
    switch = part(situation.host.fabric, "nvswitch")
    board = len(situation.gpus) > 1 and all(gpu.model is not None and gpu.model.nvswitch_board for gpu in situation.gpus)
    return switch is True or (switch is None and board)


def kernel_name(situation: Situation) -> str:
    """The running kernel as `uname -r` prints it; "" = not known."""
    return text(situation.host.os, "kernel")[:200]
