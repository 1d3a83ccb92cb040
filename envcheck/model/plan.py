"""A plan: the stack to install, how, and how to serve. Complete: every file renders again from it."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.budget import SizeResult
from envcheck.model.finding import Finding
from envcheck.model.text import Text

PLAN_SCHEMA = "envcheck.plan/1"


class Clash(msgspec.Struct, frozen=True):
    """Why one wheel does not run here: a finding code and the two values that clash, in that order: what is needed, what is here."""

    code: str
    detail: Text
    needed: str
    present: str
    severity: Literal["error", "warning"] = "error"


class StackAdvisories(msgspec.Struct, frozen=True):
    """Security advisories open in a release: how many, how many critical or high, how many whose condition the request meets.

    `gravest` is the id of the worst, `fixed` the release that closes all that any closes. `as_of` = date of the newest advisory read;
    a release `newer_than_data` may have others.
    """

    open: int
    grave: int
    met: int
    gravest: str | None
    fixed: str | None
    as_of: str
    newer_than_data: bool


class Stack(msgspec.Struct, frozen=True):
    """One vLLM wheel with the torch it runs on and the interpreter it goes into.

    `variant` "" = the package index's wheel. `torch_variant` "" = torch from the package index too. `python` = the planned `X.Y`;
    `new_python` when the host's own interpreter does not serve.
    """

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
    url: str | None = None
    warnings: tuple[Clash, ...] = ()
    driver_needed: str | None = None
    advisories: StackAdvisories | None = None


class Step(msgspec.Struct, frozen=True):
    """One command as arguments, never a shell string, and why it is there."""

    argv: tuple[str, ...]
    why: Text


class InstallRecipe(msgspec.Struct, frozen=True):
    """The steps of one installer into a fresh virtual environment."""

    tool: Literal["uv", "pip"]
    steps: tuple[Step, ...]


class MirrorChoice(msgspec.Struct, frozen=True):
    """A mirror to use, its URL filled in, and why."""

    kind: str
    id: str
    url: str
    why: Text


class Setting(msgspec.Struct, frozen=True):
    """One serve argument or environment variable; `flag` as typed (`--max-model-len`), `value` None for a switch."""

    flag: str
    value: str | None
    why: Text


class ServeConfig(msgspec.Struct, frozen=True):
    """`vllm serve MODEL` with settings in order, and the environment it needs."""

    model: str
    settings: tuple[Setting, ...]
    environment: tuple[Setting, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """`stack` None = nothing runs here as it is; then `ways_out` says what would. `alternatives` run here too, best first.

    `not_possible` maps a release to what clashes, for the releases nearest to the choice.
    """

    schema: str
    stack: Stack | None
    alternatives: tuple[Stack, ...]
    ways_out: tuple[Stack, ...]
    not_possible: dict[str, tuple[Clash, ...]]
    mirrors: tuple[MirrorChoice, ...]
    install: tuple[InstallRecipe, ...]
    serve: ServeConfig | None
    size: SizeResult | None
    findings: tuple[Finding, ...]
    environment_dir: str
    notes: tuple[Text, ...] = ()
