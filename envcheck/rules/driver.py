"""Rules on the driver by itself: its branch's life, known faults, GPUs newer than it."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.model.versions import DriverVersion
from envcheck.rules.build import dotted
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation, text


def older_than_gpu(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver that does not list the GPU yet, where NVML has not shown it to work all the same."""
    if situation.driver is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    from envcheck.rules.driver_branch import first_listing, first_of_generation  # noqa: PLC0415  # only for a driver that will not do

    for gpu in situation.usable_gpus:
        needed = first_listing(matrix, gpu.model, gpu.capability) if gpu.model else None
        if needed and situation.driver.branch < needed.branch:
            params = {"driver": situation.driver.raw, "name": gpu.name}
            generation = first_of_generation(matrix, gpu.capability)
            shown = known(gpu.told.uuid) is not None or gpu.free_mib is not None  # what only a driver that serves the GPU tells
            if generation and situation.driver.branch < generation.branch and not shown:
                steps = (upgrade(situation, matrix, generation),)
                params |= {"needed": generation.raw, "capability": str(gpu.capability)}
                yield error("driver-older-than-gpu", "architecture", remedies=steps, **params)
            else:  # a driver may start a later card of a generation that it knows
                steps = (upgrade(situation, matrix, needed),)
                yield warning("driver-older-than-gpu", needed=needed.raw, remedies=steps, **params)
            return


def upgrade(situation: Situation, matrix: Matrix, needed: DriverVersion) -> Remedy:
    """A driver of at least a version, by a branch that serves the GPUs."""
    from envcheck.rules.driver_install import driver_commands, planned_branch  # noqa: PLC0415  # the same

    commands = driver_commands(situation, matrix, planned_branch(situation, matrix, needed.branch))
    return remedy("driver", "upgrade-driver", *commands, root=True, driver=needed.raw)


def dropped_gpu(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver branch that serves the GPU's generation no more, where NVML does not list the GPU all the same."""
    if situation.driver is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    from envcheck.rules.driver_install import driver_commands  # noqa: PLC0415  # the same

    for gpu in situation.usable_gpus:
        last = matrix.last_branch(gpu.capability) if gpu.capability else None
        if last is not None and situation.driver.branch > last:
            ways = (remedy("driver", "older-driver", *driver_commands(situation, matrix, last), root=True, branch=last),)
            yield error("device-not-detected", "dropped", name=gpu.name, last=last, driver=situation.driver.raw, remedies=ways)
            return


def end_of_life(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver branch that gets no fixes any more."""
    branch = matrix.branch(situation.driver) if situation.driver and not situation.wsl else None
    if branch and branch.ended and situation.driver:
        variant = "detail" if branch.end_of_life else "undated"
        yield info("driver-end-of-life", variant, driver=situation.driver.raw, branch=branch.branch, date=branch.end_of_life)


def known_bad(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver with a known fault that this host can meet."""
    if situation.driver is None or situation.wsl:
        return
    gpus = situation.usable_gpus
    for fault in matrix.drivers.faults(situation.driver):
        met = [gpu for gpu in gpus if not fault.kinds or (gpu.model is not None and gpu.model.kind in fault.kinds)]
        if met and (len(gpus) > 1 or not fault.several_gpus):
            steps = (remedy("setting", "no-peer-access", "export NCCL_P2P_DISABLE=1"), remedy("driver", "other-driver", root=True))
            yield warning("driver-known-bad", fault.effect, driver=situation.driver.raw, count=len(gpus), remedies=steps)
            return


def minor_compatibility(situation: Situation, matrix: Matrix, cuda: tuple[int, ...] | None, vllm: str) -> Iterator[Finding]:
    """The wheel's CUDA release is newer than the driver's within one major: runs by minor-version compatibility."""
    shown = situation.driver_cuda
    if cuda and shown and cuda[0] == shown[0] and cuda[:2] > shown[:2]:
        yield info("driver-minor-compat", vllm=vllm, cuda=dotted(cuda), shown=dotted(shown))
