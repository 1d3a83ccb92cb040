"""How a request spreads a model over GPUs, and which release and model it is about, as several rules need it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.version_range import version_range
from envcheck.rules.situation import GpuFact, Situation

_MOST_RANKS = 1 << 16
# Any of these says that the server is more than the processes of one host.
_BEYOND = (
    *("node_rank", "headless", "data_parallel_rank", "data_parallel_start_rank", "data_parallel_address"),
    *("data_parallel_external_lb", "data_parallel_hybrid_lb"),
)


class Spread(msgspec.Struct, frozen=True):
    """Sizes of the ranks' grid; `asked` = the request names any of them, `one_host` = all ranks are on this host."""

    tensor: int
    pipeline: int
    data: int
    asked: bool
    one_host: bool

    @property
    def ranks(self) -> int:
        """Ranks of one server; each takes a GPU."""
        return self.tensor * self.pipeline * self.data

    @property
    def several(self) -> bool | None:
        """Whether several GPUs work together; None where the request does not say."""
        return self.ranks > 1 if self.asked else None


_UNASKED = Spread(1, 1, 1, asked=False, one_host=True)


def spread_of(situation: Situation) -> Spread:
    """The grid a request asks for; values of odd types count as not asked."""
    args = situation.request.serve_args
    if not args:
        return _UNASKED
    from envcheck.sizing.fields import integer, word  # noqa: PLC0415  # only for arguments of vllm serve

    sizes = [integer(args, f"{kind}_parallel_size", most=_MOST_RANKS) for kind in ("tensor", "pipeline", "data")]
    local = integer(args, "data_parallel_size_local", most=_MOST_RANKS)
    beyond = (integer(args, "nnodes", most=_MOST_RANKS) or 1) > 1 or any(args.get(name) for name in _BEYOND)
    ray = "ray" in (word(args, "distributed_executor_backend"), word(args, "data_parallel_backend"))
    return Spread(
        sizes[0] or 1,
        sizes[1] or 1,
        local or sizes[2] or 1,
        asked=any(size is not None for size in sizes),
        one_host=not (beyond or ray),
    )


def planned_gpus(situation: Situation, spread: Spread) -> tuple[GpuFact, ...]:
    """The GPUs that the ranks would take: the first ones shown."""
    return situation.usable_gpus[: spread.ranks]


def planned(situation: Situation) -> bool:
    """Whether the request is about serving something and not about the host alone."""
    request = situation.request
    return bool(request.model or request.model_config or request.weights_gib or request.serve_args)


def release_of(situation: Situation, matrix: Matrix) -> Release | None:
    """The release asked about, else the installed one; None where there is neither."""
    if situation.request.vllm:
        return matrix.matching(situation.request.vllm)[0]
    return situation.installed.release if situation.installed else None


@lru_cache(maxsize=1024)
def in_range(release: Release, releases: str) -> bool:
    """Whether a release is of a range of the memory facts; "" = every one."""
    return not releases or version_range(releases).contains(release.version)


def config_of(situation: Situation, matrix: Matrix) -> Mapping[str, Any]:
    """The configuration of the model asked about: the request's, else the catalogue's; empty where neither has one."""
    request = situation.request
    if request.model_config is not None:
        return request.model_config
    card = matrix.model(request.model) if request.model else None
    return card.config if card else {}


def weights_gib(situation: Situation, matrix: Matrix) -> float | None:
    """The whole checkpoint in GiB: measured weights of a GPU times the ranks that hold parts of it, else the catalogue's bytes."""
    request = situation.request
    if request.weights_gib is not None and 0 < request.weights_gib < 1 << 20:
        spread = spread_of(situation)
        return request.weights_gib * spread.tensor * spread.pipeline
    card = matrix.model(request.model) if request.model else None
    return card.weights_bytes / (1 << 30) if card and card.weights_bytes else None


def share_asked(args: Mapping[str, Any]) -> float | None:
    """`--gpu-memory-utilization`, 0 to 1; None where not asked for."""
    if not args:
        return None
    from envcheck.sizing.fields import number  # noqa: PLC0415  # only for arguments of vllm serve

    return number(args, "gpu_memory_utilization", least=1e-6, most=1)
