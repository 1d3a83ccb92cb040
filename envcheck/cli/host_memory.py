"""What a server takes of the host's memory outright, and what its ranks need of /dev/shm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcheck.model.units import GIB, gib

if TYPE_CHECKING:
    from envcheck.cli.sizing import Sized
    from envcheck.render.size_parts import HostMemory
    from envcheck.sizing.question import Question

_CACHE = "mm_processor_cache_gb"


def host_memory_of(sized: Sized, question: Question) -> HostMemory | None:
    """The host memory of one server, all ranks together; None where it takes nothing that is known."""
    from envcheck.render.size_parts import HostMemory

    parts = {name: round(gib(n_bytes), 2) for name, n_bytes in _parts(sized, question) if n_bytes > 0}
    shared = int(sized.matrix.thresholds["shm-recommended-mib"]) if question.settings.gpus > 1 else None
    if not parts and shared is None:
        return None
    ram = question.inputs.ram_bytes
    return HostMemory(parts, round(sum(parts.values()), 2), round(gib(ram), 2) if ram is not None else None, shared, _shared(sized))


def _parts(sized: Sized, question: Question) -> Iterator[tuple[str, float]]:
    """Bytes by what they are for.

    Sources: `vllm/worker/cache_engine.py` (swap space of each rank, pinned; V1 has none); `vllm/config/multimodal.py` (a processor cache
    for each API server and each data-parallel rank).
    """
    settings = question.settings
    if question.rules.engine == "v0":
        asked = "swap_space" in question.inputs.serve_args
        yield "swap", (settings.swap_gib if asked else question.rules.accounting.swap_gib or 0.0) * GIB * settings.tensor_ranks
    yield "weights", settings.offload_gib * GIB * settings.gpus
    yield "kv-tier", settings.kv_offload_gib * GIB
    if question.dims.multimodal and not settings.text_only:
        yield "processor-cache", _processor_cache(sized, question) * GIB


def _processor_cache(sized: Sized, question: Question) -> float:
    """GiB of all processor caches: as asked for, else the release's default."""
    from envcheck.model.version_range import version_range
    from envcheck.sizing.fields import integer, number
    from envcheck.sizing.release import final_release

    args, release = question.inputs.serve_args, final_release(sized.release.version)
    default = next(
        (each.value for each in sized.matrix.effective if each.setting == _CACHE and version_range(each.releases).contains(release)), 0
    )
    asked = number(args, _CACHE, least=0, most=1 << 20)
    size = asked if asked is not None else default if isinstance(default, (int, float)) else 0
    servers = integer(args, "api_server_count", most=4096) or 1
    return size * (servers + question.settings.replicas)


def _shared(sized: Sized) -> float | None:
    from envcheck.model.host import known

    memory = known(sized.host.memory)
    return known(memory.shm_mib) if memory else None
