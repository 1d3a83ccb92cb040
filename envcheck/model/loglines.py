"""The records of `matrices/log_lines.json`: which lines of a start-up log tell what, in which releases."""

from typing import Literal

import msgspec

from envcheck.model.memoryfacts import Engine

# What a line may tell. Figures in GiB, counts plain; `config`, `arguments`, `namespace` hold settings.
GROUPS = frozenset({
    "weights", "non_torch", "consumed", "peak", "torch_peak", "peak_and_estimate", "graphs", "graphs_estimated", "kv", "total", "free",
    "budget", "utilization", "tokens", "blocks", "block_size", "concurrency", "concurrency_tokens", "encoder_tokens", "batched_tokens",
    "sequences", "release", "engine", "model", "gpu", "config", "arguments", "namespace", "needed", "available", "longest", "context",
})  # fmt: skip
Says = Literal[
    "begins",
    "starts",
    "fails",
    "cold",
    "warm",
    "out-of-memory",
    "free-memory",
    "no-kv-blocks",
    "kv-too-small",
    "sampler-warmup",
    "host-memory",
]


class LogLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One form of a line. `marker` is a text that every such line holds; `pattern` its regular expression, groups named as in `GROUPS`.

    `says` = what the line itself tells, besides its figures. `releases` is a version specifier, "" = not bound to any.
    """

    id: str
    marker: str
    pattern: str = ""
    releases: str = ""
    engine: Engine | None = None
    says: Says | None = None
    note: str | None = None


class LogPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the statement of a line stands in the source, as the log's `[file.py:123]` shows it, and the releases where it does."""

    line: str
    place: str
    releases: list[str]


class LogSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A serve argument that matters to memory; `config` = its name in the engine's configuration line, where that has it."""

    name: str
    config: str | None = None


class LogLinesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/log_lines.json`. A setting that is not listed is not kept of a log."""

    sources: list[str]
    lines: list[LogLine]
    settings: list[LogSetting]
    places: list[LogPlace]
