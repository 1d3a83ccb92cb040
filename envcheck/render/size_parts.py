"""What stands around a memory budget, as values that text and JSON are made of."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.model.finding import Finding
from envcheck.model.modelspec import ModelSpec
from envcheck.model.relief import CardNeeded, Relief, ReliefStep
from envcheck.render.claims import ClaimOut


class VariantOut(msgspec.Struct, frozen=True):
    """A quantized variant of the model from the catalogue, on the same GPUs under the same load."""

    model: str
    weights_gib: float | None
    frees_gib: float | None
    served: bool
    requests: float
    serve_args: dict[str, Any]


class SecondStart(msgspec.Struct, frozen=True):
    """What the KV cache of a GPU has more of on a second start: GiB, and tokens of the pool."""

    gib: float
    tokens: int


class LibraryBatch(msgspec.Struct, frozen=True):
    """Batched tokens of the `LLM` class, and those that `vllm serve` would have."""

    tokens: int
    server_tokens: int


class HostMemory(msgspec.Struct, frozen=True):
    """Host memory of one server, GiB: `parts` by what they are for; `ram` of the host. MiB of /dev/shm for several ranks: wanted, there."""

    parts: dict[str, float]
    total_gib: float
    ram_gib: float | None = None
    shm_wanted_mib: int | None = None
    shm_mib: float | None = None


class Around(msgspec.Struct, frozen=True):
    """What stands around a budget: the load's relief, findings that stop the server whatever its memory, and ways to more room.

    `steps` = what each suggested argument frees where no load was stated; `media` = what each argument about images and videos frees
    alone; `processes` = who else holds memory of the GPUs; `stated` = the load was asked for; `note` = a finished sentence for below the
    verdict; `second` = what a second start gains; `library` = the model is sized for the `LLM` class; `host` = memory beside the GPUs;
    `fancy` = the bar may be drawn with other letters than ASCII's.
    """

    model: ModelSpec | None = None
    vllm: str | None = None
    relief: Relief | None = None
    findings: tuple[Finding, ...] = ()
    variants: tuple[VariantOut, ...] = ()
    cards: tuple[CardNeeded, ...] = ()
    claims: tuple[ClaimOut, ...] = ()
    media: tuple[ReliefStep, ...] = ()
    steps: tuple[ReliefStep, ...] = ()
    processes: tuple[str, ...] = ()
    stated: bool = False
    note: str = ""
    second: SecondStart | None = None
    library: LibraryBatch | None = None
    host: HostMemory | None = None
    fancy: bool = False
