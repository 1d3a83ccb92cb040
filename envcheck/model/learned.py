"""What a start-up log tells of one server's memory: a measured record. GiB of one GPU unless said otherwise."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.budget import FailureKind
from envcheck.model.memoryfacts import Engine

LEARNED_SCHEMA = "envcheck.learned/1"
Outcome = Literal["starts", "fails", "unknown"]
SettingValue = str | int | float | bool


class LearnedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Figures as printed, None where the log does not tell.

    `consumed_gib` = weights and non-torch together (0.27 and later print only that); `peak_activation_gib` without the graphs' estimate;
    `graphs_gib` as measured after capture, `graphs_estimated_gib` as the budget may be charged; `free_gib` at start; `budget_gib` =
    utilization x total. `kv_tokens` as printed, which counts blocks differently from release to release.
    """

    total_gib: float | None = None
    free_gib: float | None = None
    utilization: float | None = None
    budget_gib: float | None = None
    weights_gib: float | None = None
    non_torch_gib: float | None = None
    consumed_gib: float | None = None
    peak_activation_gib: float | None = None
    graphs_gib: float | None = None
    graphs_estimated_gib: float | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    kv_blocks: int | None = None
    block_size: int | None = None
    max_concurrency: float | None = None
    concurrency_tokens: int | None = None
    encoder_tokens: int | None = None
    unexplained_gib: float | None = None


class LearnedRank(msgspec.Struct, frozen=True):
    """One worker's figures, under its name in the log."""

    name: str
    memory: LearnedMemory


class LearnedFailure(msgspec.Struct, frozen=True):
    """Why the server did not start; `kind` None = out of memory at a point that the log does not tell."""

    kind: FailureKind | None
    needed_gib: float | None = None
    available_gib: float | None = None
    max_model_len: int | None = None


class LearnedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a server. `memory` = the worker with the least KV memory, for it decides; `missing` names what was not told.

    `vllm_from` = what the release was read from; where the log names none, `vllm_candidates` = those whose source has the lines where the
    log shows them. `lines` = the log's line that each figure was read from. `settings` are serve arguments in snake case, those that
    matter to memory only.
    """

    log: str
    line: int
    vllm: str | None = None
    vllm_from: Literal["log", "line-numbers"] | None = None
    vllm_candidates: list[str] = []
    engine: Engine | None = None
    model: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    outcome: Outcome = "unknown"
    failure: LearnedFailure | None = None
    compile_cache: Literal["cold", "warm"] | None = None
    settings: dict[str, SettingValue] = {}
    memory: LearnedMemory = LearnedMemory()
    ranks: list[LearnedRank] = []
    lines: dict[str, int] = {}
    missing: list[str] = []


class Learned(msgspec.Struct, frozen=True):
    """The answer of `envcheck learn`; `unread` = the logs that tell of no start."""

    runs: list[LearnedRun]
    unread: list[str] = []
    schema: str = LEARNED_SCHEMA
