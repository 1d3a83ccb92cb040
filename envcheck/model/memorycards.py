"""Records of `matrices/memory.json` about cards, and about how sure the figures are. GiB are 2**30 bytes, MiB 2**20."""

from typing import Literal

from envcheck.model.memoryrecord import Interconnect, MemoryRecord, ModelKind, Runner


class Context(MemoryRecord, frozen=True, kw_only=True):
    """What the CUDA context of an idle GPU takes: `base_gib` + total x `share`; `communicators_gib` more with several ranks.

    `wsl` = on Windows, whose desktop and driver model take their part.
    """

    base_gib: float
    share: float
    communicators_gib: float
    interconnect: Interconnect | None = None
    wsl: bool = False


class CudaTotal(MemoryRecord, frozen=True, kw_only=True):
    """Total memory as CUDA reports it beside NVML's figure, MiB; `gpus` are words of a name, all of which must occur, case ignored."""

    gpus: list[str]
    nvml_mib: int
    cuda_mib: int


class Margins(MemoryRecord, frozen=True, kw_only=True):
    """What decides close calls, GiB.

    `noise_gib` = two runs of one command differ by this much; `warm_up_share` = of the sampler's peak, what its warm-up needs besides
    for fragmentation; `reserved_share` + `reserved_gib` = total as NVML counts it less total as CUDA does, where no record says;
    `swap_share` = of host memory, above which a release that pins swap space refuses to start. `measured` = the releases of which logs
    are known.
    """

    noise_gib: float
    warm_up_share: float
    reserved_gib: float
    reserved_share: float
    swap_share: float
    measured: str = ""


class Spread(MemoryRecord, frozen=True, kw_only=True):
    """How far a term is off in nine runs of ten: `gib` + `share` x the term, GiB.

    `above_gib` = what the KV cache may have more besides, where the term is set on the careful side.
    `kinds` = only for models of these kinds; `gpus` = words one of which the card's name holds, case ignored; `ranks` = that many
    tensor-parallel ranks or more; `unified` = only where CPU and GPU share their memory.
    """

    term: Literal["weights", "quantized", "total", "peaks", "sampler", "encoder", "tower", "cold", "non_torch", "graphs", "noise"]
    gib: float = 0.0
    share: float = 0.0
    above_gib: float = 0.0
    kinds: list[ModelKind] = []
    gpus: list[str] = []
    ranks: int = 1
    interconnect: Interconnect | None = None
    runner: Runner | None = None
    unified: bool = False
