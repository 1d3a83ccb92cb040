"""The JSON of every command as typed values: texts are finished sentences, keys are only ever added within a schema version."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from envcheck.model.budget import FailureKind, KvCache, PerGpu, SizeVerdict
from envcheck.model.finding import RemedyKind, Severity, Verdict
from envcheck.model.host import HostReport
from envcheck.model.stack import StackAdvisories
from envcheck.model.ways import Pin, WayKind
from envcheck.render.jsonserve import EngineOut, TokensOut

WRITTEN_SCHEMA = "envcheck.written/1"
SIZE_SCHEMA = "envcheck.size/1"
EXPLAIN_SCHEMA = "envcheck.explain/1"
VALIDATE_SCHEMA = "envcheck.validate/1"
BATCH_SCHEMA = "envcheck.batch/1"


class RemedyOut(msgspec.Struct, frozen=True):
    """One way out; `commands` are shell lines for the reader to run."""

    kind: RemedyKind
    commands: list[str]
    needs_root: bool
    note: str


class FactOut(msgspec.Struct, frozen=True):
    """A fact that a finding rests on and where it was read."""

    path: str
    value: str | int | float | bool
    source: str | None


class FindingOut(msgspec.Struct, frozen=True):
    """One finding, its sentences in the language asked for; `consequences` = findings that only follow from it."""

    code: str
    severity: Severity
    title: str
    detail: str
    evidence: dict[str, Any]
    remedies: list[RemedyOut]
    sources: list[str]
    origin: Literal["rule", "log"]
    facts: list[FactOut] = []
    consequences: list[FindingOut] = []


class ClashOut(msgspec.Struct, frozen=True):
    """Two values that clash: what is needed, what is here. `release` where it keeps one from running."""

    code: str
    severity: Literal["error", "warning"]
    detail: str
    needed: str
    present: str
    release: str | None = None


class StackOut(msgspec.Struct, frozen=True):
    """One vLLM wheel with its torch and interpreter; `variant` "" = the package index's wheel."""

    vllm: str
    variant: str
    arch: str
    cuda: str
    cuda_major: int
    torch: str
    torch_variant: str
    python: str
    new_python: bool
    engine: str
    url: str | None
    driver_needed: str | None
    warnings: list[ClashOut]
    advisories: StackAdvisories | None = None


class CostOut(msgspec.Struct, frozen=True):
    """What a way costs; `download_mib` = what is known of the download, `download_more` = there is more than that."""

    root: bool
    reboot: bool
    shared: bool
    download_mib: int | None
    download_more: bool
    lost: list[str]


class ImageOut(msgspec.Struct, frozen=True):
    """A container image; `environment` = what it must be started with, `mirror` = where it is pulled from instead."""

    reference: str
    release: str
    cuda: str
    compat: bool
    environment: dict[str, str]
    basis: str
    mirror: str | None


class WayOut(msgspec.Struct, frozen=True):
    """One way round what keeps the request from running.

    `after` = the host's facts that it changes, by dotted path as `--set` takes them, and `asks` the release to ask about then: together
    the question whose verdict is `proof` (null = its result cannot be stated as facts). `first` = what is mended before, `breaks` = wishes
    that it does not honour.
    """

    kind: WayKind
    title: str
    commands: list[str]
    stack: StackOut | None
    image: ImageOut | None
    cost: CostOut
    first: list[RemedyOut]
    after: dict[str, Any]
    asks: str | None
    proof: Verdict | None
    breaks: list[Pin]
    why: list[str]


class StepOut(msgspec.Struct, frozen=True):
    """One command: as arguments, as a shell line, and why."""

    argv: list[str]
    command: str
    why: str


class InstallOut(msgspec.Struct, frozen=True):
    """The steps of one installer."""

    tool: Literal["uv", "pip"]
    steps: list[StepOut]


class MirrorOut(msgspec.Struct, frozen=True):
    """A mirror to use and why."""

    kind: str
    id: str
    url: str
    why: str


class SettingOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """One serve argument or environment variable; `value` null = a switch, or a variable passed on and never written down.

    `more` = further words of an argument that takes several.
    """

    flag: str
    value: str | None
    why: str
    more: list[str] = []


class ServeOut(msgspec.Struct, frozen=True):
    """`vllm serve` as settings and as one shell line."""

    model: str
    settings: list[SettingOut]
    environment: list[SettingOut]
    command: str


class SuggestionOut(msgspec.Struct, frozen=True):
    """Serve arguments that fit, with their reasons in the same order."""

    serve_args: dict[str, Any]
    why: list[str]


class FailureOut(msgspec.Struct, frozen=True):
    """What does not fit; GiB."""

    kind: FailureKind
    needed_gib: float | None
    available_gib: float | None
    max_model_len: int | None


class AccountOut(msgspec.Struct, frozen=True):
    """One line of the account; `charged` = the budget pays for it."""

    term: str
    gib: float
    charged: bool
    text: str


class DerivationOut(msgspec.Struct, frozen=True):
    """How a figure is arrived at: the formula in words, what goes into it, its parts (GiB; bytes for `bytes_per_token`), where it holds."""

    formula: str
    inputs: dict[str, Any]
    parts: dict[str, float]
    releases: str
    sources: list[str]


class SizeOut(msgspec.Struct, frozen=True):
    """The memory budget of one GPU in GiB; `account` explains every term, and is left out of batches."""

    verdict: SizeVerdict
    engine: str | None
    per_gpu_gib: PerGpu
    kv: KvCache
    failure: FailureOut | None
    suggested: SuggestionOut
    confidence: Literal["measured", "derived", "guess"]
    unknowns: list[str]
    account: list[AccountOut] | msgspec.UnsetType = msgspec.UNSET
    schema: str = SIZE_SCHEMA
    derivations: dict[str, DerivationOut] | msgspec.UnsetType = msgspec.UNSET


class PlanOut(msgspec.Struct, frozen=True):
    """A whole plan: every file of it can be written again from this.

    `ways` = all ways to what was asked for, least intrusive first, the first the one planned; `choice` = why this release and not the next.
    """

    schema: str
    stack: StackOut | None
    alternatives: list[StackOut]
    ways_out: list[StackOut]
    not_possible: dict[str, list[ClashOut]]
    mirrors: list[MirrorOut]
    install: list[InstallOut]
    serve: ServeOut | None
    size: SizeOut | None
    findings: list[FindingOut]
    environment_dir: str
    notes: list[str]
    ways: list[WayOut] = []
    choice: list[str] = []
    tokens: TokensOut | msgspec.UnsetType = msgspec.UNSET
    engine: EngineOut | msgspec.UnsetType = msgspec.UNSET
    model_ways: list[WayOut] = []


class WrittenOut(msgspec.Struct, frozen=True):
    """The files that `plan -o` wrote."""

    files: list[str]
    schema: str = WRITTEN_SCHEMA


class CheckOut(msgspec.Struct, frozen=True):
    """The answer of `check`; `matrix_date` is the day of the compatibility facts."""

    schema: str
    verdict: Verdict
    subject: Literal["installed", "requested", "any", "environment"]
    vllm: str | None
    newest: str
    engine: str | None
    binding: ClashOut | None
    undecided: list[str]
    findings: list[FindingOut]
    host: HostReport
    plan: PlanOut | None
    matrix_date: str


class BatchFinding(msgspec.Struct, frozen=True):
    """A finding in short; `explains` = codes that only follow from it."""

    code: str
    severity: Severity
    origin: Literal["rule", "log"]
    explains: list[str] | UnsetType = UNSET


class BatchOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answered line of `batch`; `size` and `plan` where the line wanted them."""

    id: Any
    verdict: Verdict
    engine: str | None
    findings: list[BatchFinding]
    size: SizeOut | msgspec.UnsetType = msgspec.UNSET
    plan: PlanOut | msgspec.UnsetType = msgspec.UNSET


class BatchError(msgspec.Struct, frozen=True):
    """A line that could not be answered, and why."""

    id: Any
    error: str


class ExplainOut(msgspec.Struct, frozen=True):
    """One finding code in full.

    `fix` and `avoid` = one step or one piece of wrong advice a line, the best or commonest first; `severity` = when it is an `error`, a
    `warning`, an `info`; `reads` = the facts of the host that it rests on, by dotted path or part; `explains` = codes that only follow
    from it where both are found, `explained_by` = the other way round; `settled_by` = what, seen on the host, leaves only a note of it.
    """

    code: str
    title: str
    theme: str
    what: str
    why: str
    severity: dict[str, str]
    detected_by: list[Literal["facts", "request", "memory-budget", "output"]]
    reads: list[str]
    check: str
    fix: str
    avoid: str
    explains: list[str]
    explained_by: list[str]
    settled_by: list[str]
    sources: list[str]
    schema: str = EXPLAIN_SCHEMA


class ProblemOut(msgspec.Struct, frozen=True):
    """One fault of the records: file, path inside it, what is wrong."""

    file: str
    path: str
    what: str


class ValidateOut(msgspec.Struct, frozen=True):
    """The answer of `matrix validate`."""

    directory: str
    date: str | None
    problems: list[ProblemOut]
    schema: str = VALIDATE_SCHEMA
