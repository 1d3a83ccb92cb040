"""Colour is the caller's: a painter takes a finished line and its role. Without one, every line says the same in plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from envcheck.model.finding import Severity, Verdict

Role = Literal["good", "bad", "caution", "heading", "command", "faint"]
Paint = Callable[[str, Role], str]

OF_SEVERITY: dict[Severity, Role] = {Severity.ERROR: "bad", Severity.WARNING: "caution", Severity.INFO: "faint"}
OF_VERDICT: dict[Verdict, Role] = {
    Verdict.READY: "good",
    Verdict.READY_WITH_WARNINGS: "caution",
    Verdict.BLOCKED: "bad",
    Verdict.UNKNOWN: "caution",
}


def plain(text: str, role: Role) -> str:
    """No colour."""
    return text
