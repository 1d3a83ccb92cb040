"""Verdicts as exit codes."""

from __future__ import annotations

from envcheck.errors import ExitCode
from envcheck.model.budget import SizeVerdict
from envcheck.model.finding import Verdict

_VERDICTS = {
    Verdict.READY: ExitCode.READY,
    Verdict.READY_WITH_WARNINGS: ExitCode.READY,
    Verdict.BLOCKED: ExitCode.BLOCKED,
    Verdict.UNKNOWN: ExitCode.UNKNOWN,
}
_SIZES: dict[SizeVerdict, ExitCode] = {
    "fits": ExitCode.READY,
    "tight": ExitCode.READY,
    "does-not-fit": ExitCode.BLOCKED,
    "unknown": ExitCode.UNKNOWN,
}


def of_verdict(verdict: Verdict) -> int:
    """0 ready, also with warnings; 1 blocked; 3 unknown."""
    return int(_VERDICTS[verdict])


def of_size(verdict: SizeVerdict) -> int:
    """0 fits or tight; 1 does not fit; 3 unknown."""
    return int(_SIZES[verdict])
