"""One vLLM wheel with what it runs on, and what keeps one from running."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.text import Text


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
