"""A load to be served, and the settings that serve it: what each frees, and the state after it. Sizes in GiB per GPU."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from envcheck.model.text import Text

Lever = Literal[
    "sequences",
    "context",
    "utilization",
    "video",
    "batch",
    "kv-dtype",
    "tensor-parallel",
    "dtype",
    "eager",
    "pixels",
    "media-off",
    "media-unprofiled",
]

COUNTS = (1, 2, 4, 8)  # cards of one host, as they are sold and rented


class Load(msgspec.Struct, frozen=True):
    """`requests` at the same time, each of `context` tokens, prompt and answer together."""

    requests: int
    context: int


class ReliefStep(msgspec.Struct, frozen=True):
    """One changed argument, in the order of relief.

    `frees_gib` = memory of one GPU that is no longer taken, or that vLLM may newly use; negative where the load itself asks for more.
    The other figures hold once it and those before it are set: `kv_gib` and `tokens` of the KV cache, `requests` of the load's context that
    it holds at once, `missing_gib` of what the start or the load still lacks (0 = served).
    """

    lever: Lever
    argument: str
    value: Any
    frees_gib: float
    kv_gib: float
    tokens: int
    requests: float
    missing_gib: float
    why: Text


class Relief(msgspec.Struct, frozen=True):
    """How a load is served. `asked_for` = whether it is served as asked for; `served` = with `serve_args`, which always start.

    `requests` of the load's context held at once with them, `requests_interval` the fewest and most in nine starts of ten; `missing_gib`
    what is lacking even so.
    """

    load: Load
    asked_for: bool
    served: bool
    requests: float
    missing_gib: float
    steps: list[ReliefStep]
    serve_args: dict[str, Any]
    why: list[Text]
    requests_interval: tuple[float, float] | None = None


class CardNeeded(msgspec.Struct, frozen=True):
    """`count` of a card serve the load with the settings of `relief`; `memory_gib` of one as CUDA reports it."""

    name: str
    count: int
    memory_gib: float
    mainland: bool
    relief: Relief
