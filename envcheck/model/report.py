"""The answer of `envcheck check`: the verdict, what binds, the way on, and why."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.finding import Finding, Verdict
from envcheck.model.host import HostReport
from envcheck.model.plan import Plan
from envcheck.model.stack import Clash
from envcheck.model.text import Text

CHECK_SCHEMA = "envcheck.check/1"


class CheckReport(msgspec.Struct, frozen=True):
    """What `check` answers.

    `subject` says what the verdict is about: the `installed` vLLM, the `requested` release, whether `any` release runs here, or the
    `environment` at hand, which holds a torch without vLLM and is blocked by its own faults alone: a fresh one is not.
    `vllm` is the release judged: the installed or requested one, or the newest that runs; None where none does.
    `binding` is the constraint that decides: of a blocked host the first error; of a host that runs an older release than the newest,
    what keeps the newest from running; None where nothing binds. It applies to `binding_release`.
    `undecided` names the deciding facts that are not known, when the verdict is unknown.
    """

    schema: str
    verdict: Verdict
    subject: Literal["installed", "requested", "any", "environment"]
    vllm: str | None
    newest: str
    engine: str | None
    binding: Clash | None
    binding_release: str | None
    findings: tuple[Finding, ...]
    host: HostReport
    plan: Plan | None
    undecided: tuple[Text, ...] = ()
