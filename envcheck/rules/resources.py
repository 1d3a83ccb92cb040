"""Rules on system memory: what loading a model takes besides the GPU's."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.rules.figures import figure
from envcheck.rules.make import info, remedy, warning
from envcheck.rules.situation import GpuFact, Situation, part
from envcheck.rules.spread import weights_gib

_CODE = "host-memory-too-small"


def system_memory(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """RAM, or the container's limit: too little to start in, less than the weights, below twice the GPU memory."""
    memory = situation.host.memory
    bounds = (part(memory, "ram_mib"), part(memory, "cgroup_limit_mib"))
    sizes = [size / 1024 for size in map(figure, bounds) if size]
    if not sizes:
        return
    ram = min(sizes)
    what = {"ram_gib": round(ram, 1)}
    limited = len(sizes) == 2 and sizes[1] < sizes[0]
    ways = (remedy("container", "raise-limit", "docker run --memory …"),) if limited else ()
    least = matrix.thresholds["host-memory-least-gib"]
    if ram < least:
        yield warning(_CODE, "least", least_gib=round(least), remedies=ways, **what)
        return
    weights = weights_gib(situation, matrix)
    if weights and ram < weights:
        yield warning(_CODE, "weights", weights_gib=round(weights, 1), remedies=ways, **what)
        return
    gpu = max((gpu.memory_mib / 1024 for gpu in situation.usable_gpus if gpu.memory_mib and not _unified(gpu)), default=0.0)
    if gpu and ram < matrix.thresholds["host-memory-per-gpu-memory"] * gpu:
        yield info(_CODE, "detail", gpu_gib=round(gpu, 1), **what)


def _unified(gpu: GpuFact) -> bool:
    """Whether the GPU's memory is the host's, so that there are not two to compare."""
    return gpu.told.unified_memory is True or (gpu.model is not None and gpu.model.unified_memory)


def killed(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The kernel has ended a server since boot because memory ran out."""
    log = known(situation.host.kernel_log)
    if log is not None and "out-of-memory-kill" in (known(log.events) or ()):
        yield warning(_CODE, "killed", remedies=(remedy("setting", "watch-memory", "free -m"),))
