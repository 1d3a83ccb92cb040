"""Verdicts as exit codes."""

from __future__ import annotations

from envcheck.errors import ExitCode
from envcheck.model.budget import SizeVerdict
from envcheck.model.finding import Verdict
from envcheck.model.report import CheckReport

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


def of_plan(report: CheckReport) -> int:
    """0 where the plan leads to a server; 1 where nothing runs here, the model does not fit, or the host itself must be repaired first.

    A broken environment is no obstacle: the plan makes a fresh one. 3 where a deciding fact is not known.
    """
    plan = report.plan
    if plan is None or (plan.stack is None and report.verdict is not Verdict.UNKNOWN):
        return int(ExitCode.BLOCKED)
    if plan.size is not None and plan.size.verdict == "does-not-fit":
        return int(ExitCode.BLOCKED)
    if report.verdict is Verdict.BLOCKED and report.subject == "any":
        return int(ExitCode.BLOCKED)
    return int(ExitCode.UNKNOWN if report.verdict is Verdict.UNKNOWN else ExitCode.READY)


def of_size(verdict: SizeVerdict) -> int:
    """0 fits or tight; 1 does not fit; 3 unknown."""
    return int(_SIZES[verdict])
