"""Rules on the driver by itself: its branch's life, GPUs newer than it."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.build import dotted
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation, text


def older_than_gpu(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver that does not list the GPU yet, where NVML has not shown it to work all the same."""
    if situation.driver is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    decides_from = matrix.capability_trait("driver-listings-decide-from")
    for gpu in situation.usable_gpus:
        first = gpu.model.first_driver if gpu.model else {}
        if not first or gpu.capability is None or decides_from is None or gpu.capability < decides_from:
            continue
        branch = min(int(branch) for branch in first)
        if situation.driver.branch < branch:
            needed = first[str(branch)]
            steps = (remedy("driver", "upgrade-driver", root=True, driver=needed),)
            yield warning("driver-older-than-gpu", driver=situation.driver.raw, needed=needed, name=gpu.name, remedies=steps)
            return


def dropped_gpu(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver branch that serves the GPU's generation no more, where NVML does not list the GPU all the same."""
    if situation.driver is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    for gpu in situation.usable_gpus:
        last = matrix.last_branch(gpu.capability) if gpu.capability else None
        if last is not None and situation.driver.branch > last:
            ways = (remedy("driver", "older-driver", root=True, branch=last),)
            yield error("device-not-detected", "dropped", name=gpu.name, last=last, driver=situation.driver.raw, remedies=ways)
            return


def end_of_life(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A driver branch that gets no fixes any more."""
    branch = matrix.branch(situation.driver) if situation.driver and not situation.wsl else None
    if branch and branch.ended and situation.driver:
        variant = "detail" if branch.end_of_life else "undated"
        yield info("driver-end-of-life", variant, driver=situation.driver.raw, branch=branch.branch, date=branch.end_of_life)


def minor_compatibility(situation: Situation, matrix: Matrix, cuda: tuple[int, ...] | None, vllm: str) -> Iterator[Finding]:
    """The wheel's CUDA release is newer than the driver's within one major: runs by minor-version compatibility."""
    shown = situation.driver_cuda
    if cuda and shown and cuda[0] == shown[0] and cuda[:2] > shown[:2]:
        yield info("driver-minor-compat", vllm=vllm, cuda=dotted(cuda), shown=dotted(shown))
