"""Rules on GPU memory that others hold already, and on what is uneven among GPUs that work together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.host import Process, known
from envcheck.model.text import Param
from envcheck.rules.figures import figure
from envcheck.rules.gpus import is_jetson
from envcheck.rules.make import finding, info, remedy, warning
from envcheck.rules.places import where, wheres
from envcheck.rules.situation import GpuFact, Situation, only_visible
from envcheck.rules.spread import in_range, planned, planned_gpus, release_of, share_asked, spread_of

_NAMED = 4


def busy(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Free memory of a GPU below the share that serving takes at start."""
    asked = share_asked(situation.request.serve_args)
    limit = asked or matrix.thresholds["gpu-memory-share"]
    full = [gpu for gpu in situation.usable_gpus if _below(gpu, limit)]
    if not full:
        return
    release = release_of(situation, matrix) or situation.concluded or matrix.releases[0]
    share, checked = _at_start(matrix, release)
    share = asked or share
    full = [gpu for gpu in full if _below(gpu, share)]
    mine = planned_gpus(situation, spread_of(situation))
    hit = next((gpu for gpu in full if gpu in mine), None)
    if hit is None:
        return
    holders = _holders(situation, hit)
    total, free = _total(hit) / 1024, (hit.free_mib or 0) / 1024
    params: dict[str, Param] = {"gpu": where(hit), "free_gib": round(free, 1), "total_gib": round(total, 1), "percent": round(share * 100)}
    needed = round(total * share, 1)
    ways = tuple(_ways(situation, matrix, full, hit, holders, free / total))
    if holders:
        grave = Severity.ERROR if planned(situation) and checked else Severity.WARNING
        yield finding("gpu-memory-busy", grave, "detail", needed_gib=needed, holders=_named(holders), remedies=ways, **params)
    else:
        yield warning("gpu-memory-busy", "unexplained", needed_gib=needed, remedies=ways, **params)


def _below(gpu: GpuFact, share: float) -> bool:
    """Whether less than a share of its memory is free; memory that is shared with the host says nothing."""
    if gpu.free_mib is None or gpu.told.unified_memory is True:
        return False
    total = _total(gpu)
    return total > 0 and 0 <= gpu.free_mib < share * total


def _total(gpu: GpuFact) -> float:
    """MiB as CUDA counts them where that is known."""
    return figure(gpu.told.cuda_memory_mib) or gpu.memory_mib or 0.0


@lru_cache(maxsize=256)
def _at_start(matrix: Matrix, release: Release) -> tuple[float, bool]:
    """The default share of a release, and whether it refuses to start where less is free."""
    defaults = [one for one in matrix.start.defaults if in_range(release, one.releases)]
    share = max((one.gpu_memory_utilization for one in defaults), default=matrix.thresholds["gpu-memory-share"])
    return share, any(one.free_memory_check for one in matrix.start.accounting if in_range(release, one.releases))


def _holders(situation: Situation, gpu: GpuFact) -> list[Process]:
    """Processes on a GPU, most memory first."""
    found = [one for one in known(situation.host.processes) or () if gpu.index is not None and known(one.gpu) == gpu.index]
    return sorted(found, key=lambda one: -(figure(one.memory_mib) or 0))


def _named(holders: list[Process]) -> str:
    listed = [f"{(known(one.name) or 'process')[:40]} ({known(one.pid) or '?'})" for one in holders[:_NAMED]]
    return ", ".join(listed) + (", …" if len(holders) > _NAMED else "")


def _ways(situation: Situation, matrix: Matrix, full: list[GpuFact], hit: GpuFact, holders: list[Process], free: float) -> Iterator[Remedy]:
    """Free GPUs, a smaller share, then looking at who holds the memory."""
    ranks = spread_of(situation).ranks
    others = [gpu for gpu in situation.usable_gpus if gpu not in full and gpu.free_mib is not None]
    if len(others) >= ranks:
        yield remedy("setting", "visible-free", only_visible(situation, others[:ranks]), gpus=wheres(others[:ranks]))
    # Two hundredths for the process's own context, which is taken before the memory is counted.
    rest = int((free - matrix.thresholds["gpu-memory-context-share"]) * 100) / 100
    if rest >= matrix.thresholds["gpu-memory-least-share"]:
        yield remedy("setting", "smaller-share", share=rest)
    pids = ",".join(str(pid) for one in holders[:_NAMED] if (pid := known(one.pid)))
    if pids:
        yield remedy("service", "end-processes", f"ps -o pid,user,lstart,args -p {pids}")
    else:
        yield remedy("service", "find-processes", "nvidia-smi", "sudo fuser -v /dev/nvidia*", root=True)


def unified(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs whose memory is the host's own: what the system uses is missing for a model that is to be served."""
    if not planned(situation):
        return
    for gpu in situation.usable_gpus:
        shared = gpu.told.unified_memory is True or (gpu.model is not None and gpu.model.unified_memory)
        if shared and not is_jetson(gpu):  # of a Jetson nothing is planned
            yield info("gpu-memory-busy", "unified", gpu=gpu.name)
            return


def uneven(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Free memory that differs among GPUs of one server: the fullest decides for all. Contexts of other ranks on a GPU are normal."""
    spread = spread_of(situation)
    if spread.ranks < 2:
        return
    free = [(gpu.free_mib, gpu) for gpu in planned_gpus(situation, spread) if gpu.free_mib is not None]
    if len(free) < 2:
        return
    least, most = min(free, key=lambda one: one[0]), max(free, key=lambda one: one[0])
    gap = (most[0] - least[0]) / 1024
    if gap < matrix.thresholds["gpu-load-uneven-gib"]:
        return
    shared = _everywhere(situation)
    key = "contexts" if shared and shared[0] == least[1].index else "detail"
    yield info("gpu-load-uneven", key, gpu=where(least[1]), other=where(most[1]), gap_gib=round(gap, 1))


def _everywhere(situation: Situation) -> list[int]:
    """GPUs on which processes have a context that compute on another one."""
    on: dict[int, set[int]] = {}
    for one in known(situation.host.processes) or ():
        pid, gpu = known(one.pid), known(one.gpu)
        if pid is not None and gpu is not None:
            on.setdefault(pid, set()).add(gpu)
    return sorted({min(gpus) for gpus in on.values() if len(gpus) > 1})
