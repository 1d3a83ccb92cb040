"""A plan: the stack to install, how, and how to serve. Complete: every file renders again from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from envcheck.model.finding import Finding
from envcheck.model.stack import Clash, Stack
from envcheck.model.text import Text

if TYPE_CHECKING:
    from envcheck.model.budget import SizeResult
    from envcheck.model.ways import Way

PLAN_SCHEMA = "envcheck.plan/1"


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
    """One serve argument or environment variable; `flag` as typed (`--max-model-len`), `value` None for a switch.

    `more` = further words of an argument that takes several. A variable without a value is passed on and never written down.
    """

    flag: str
    value: str | None
    why: Text
    more: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The argument as typed."""
        return [self.flag, *(() if self.value is None else (self.value, *self.more))]


class ServeConfig(msgspec.Struct, frozen=True):
    """`vllm serve MODEL` with settings in order, and the environment it needs; `notes` = what became of arguments that changed."""

    model: str
    settings: tuple[Setting, ...]
    environment: tuple[Setting, ...] = ()
    notes: tuple[Text, ...] = ()


class Tokens(msgspec.Struct, frozen=True):
    """What is wanted of a request; tokens, None = not said."""

    prompt: int | None = None
    output: int | None = None

    @property
    def stated(self) -> bool:
        """Whether anything was said."""
        return self.prompt is not None or self.output is not None


class TokenBudget(msgspec.Struct, frozen=True):
    """Tokens of a request: `context` = prompt and output together, `prompt` and `output` as wanted (None = not said).

    `longest_prompt` leaves room for the output, `max_tokens` = what to send; `notes` = what it means and what the server answers.
    """

    context: int
    prompt: int | None
    output: int | None
    longest_prompt: int
    max_tokens: int
    notes: tuple[Text, ...] = ()


class EngineUse(msgspec.Struct, frozen=True):
    """What serves: `engine` v0 or v1, `runner` v1 or v2 (None = V0, or not known without a model).

    `switch` = what the release does with VLLM_USE_V1 (absent, selects, zero-fails, ignored, warns); `why` = why it is this engine.
    `told` = whether there is something to decide or to know.
    """

    engine: str
    runner: str | None
    switch: str
    why: Text
    told: bool = False


class Plan(msgspec.Struct, frozen=True):
    """`stack` None = nothing runs here as it is; then `ways_out` says what would. `alternatives` run here too, best first.

    `not_possible` maps a release to what clashes, for the releases nearest to the choice. `ways` = all ways to what was asked for, least
    intrusive first; the first is the one planned. `choice` = why this release and not the runner-up;
    `tokens` = the budget of requests, where one was asked for; `engine` = what serves;
    `model_ways` = ways to serve the model where it does not fit, or is not taken, as asked for.
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
    ways: tuple[Way, ...] = ()
    choice: tuple[Text, ...] = ()
    tokens: TokenBudget | None = None
    engine: EngineUse | None = None
    model_ways: tuple[Way, ...] = ()
