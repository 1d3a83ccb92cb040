"""The answer of the memory model: what a GPU's memory goes to, and the settings that fit. Sizes in GiB per GPU."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from envcheck.model.text import Text

SizeVerdict = Literal["fits", "tight", "does-not-fit", "unknown"]
Confidence = Literal["measured", "derived", "guess"]
FailureKind = Literal[
    "weights", "no-kv-blocks", "kv-too-small", "free-memory", "profile-run", "encoder", "sampler-warmup", "cuda-graphs", "host-memory"
]


class PerGpu(msgspec.Struct, frozen=True):
    """GiB on the GPU of the first rank: `total` as CUDA reports it, `budget` = utilization x total, the terms, the KV cache that is left.

    `activation`, `sampler` and `encoder` are the peaks of three passes that follow each other: the budget pays the largest of them,
    not their sum. `cuda_graphs` is the release's estimate where the budget pays for it, else what they take outside it: see `account`.
    """

    total: float | None = None
    budget: float | None = None
    weights: float | None = None
    activation: float | None = None
    sampler: float | None = None
    encoder: float | None = None
    non_torch: float | None = None
    cuda_graphs: float | None = None
    kv_cache: float | None = None


class KvCache(msgspec.Struct, frozen=True):
    """`bytes_per_token` of one GPU's rank; `tokens` of the pool as the release prints them; `max_concurrency` requests of max_model_len.

    `interval_gib` = (low, high) of the KV memory in GiB per GPU, wide enough to hold nine runs of ten; None where no KV figure is given.
    """

    bytes_per_token: float | None = None
    tokens: int | None = None
    max_concurrency: float | None = None
    interval_gib: tuple[float, float] | None = None


class SizeFailure(msgspec.Struct, frozen=True):
    """Why it does not fit; GiB; `max_model_len` the largest that would."""

    kind: FailureKind
    needed_gib: float | None = None
    available_gib: float | None = None
    max_model_len: int | None = None


class Suggestion(msgspec.Struct, frozen=True):
    """Serve arguments (snake case) that fit, each with its reason in the same order; empty where nothing fits."""

    serve_args: dict[str, Any] = {}
    why: list[Text] = []


class AccountLine(msgspec.Struct, frozen=True):
    """One line of the account: GiB of a term, whether the budget pays it, and where the figure comes from."""

    term: str
    gib: float
    charged: bool
    text: Text


class Derivation(msgspec.Struct, frozen=True):
    """How a figure is arrived at. `parts` = GiB, or bytes for `bytes_per_token`, by what they are of; `releases` "" = all."""

    formula: Text
    inputs: dict[str, Any] = {}
    parts: dict[str, float] = {}
    releases: str = ""
    sources: tuple[str, ...] = ()


class SizeResult(msgspec.Struct, frozen=True):
    """The memory budget. `unknowns` says what was missing or had to be assumed, and which adapters will not load.

    `account` explains every term, `derivations` how it is arrived at, where asked for.
    """

    verdict: SizeVerdict
    engine: str | None
    per_gpu_gib: PerGpu
    kv: KvCache
    failure: SizeFailure | None
    suggested: Suggestion
    confidence: Confidence
    unknowns: list[Text] = []
    account: list[AccountLine] = []
    derivations: dict[str, Derivation] = {}
