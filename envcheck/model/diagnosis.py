"""What a log tells."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.finding import Finding

Status = Literal["cause", "unknown", "nothing"]


class Seen(msgspec.Struct, frozen=True):
    """A line of the log: its number from 1, and its text, shortened; `file` = which of several it stands in, None where there is one."""

    number: int
    text: str
    file: str | None = None


class Diagnosis(msgspec.Struct, frozen=True):
    """The answer for a log. `unknown` = something failed that no signature names; then `telling` holds the lines that say so.

    `findings` root cause first, each with its line at the same place of `seen`. `lines` = how many the log has.
    """

    status: Status
    findings: tuple[Finding, ...]
    seen: tuple[Seen, ...]
    telling: tuple[Seen, ...]
    lines: int
