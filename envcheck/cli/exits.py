"""Verdicts as exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from envcheck.errors import ExitCode
from envcheck.model.finding import Finding, Severity, Verdict
from envcheck.model.report import CheckReport

if TYPE_CHECKING:
    from envcheck.model.budget import SizeVerdict

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
# The wheel that a plan installs runs here, on an interpreter that has what it needs, whatever is said of another.
_OF_WHEELS = (
    *("driver-too-old-for-cuda", "driver-too-old-for-ptx", "gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build"),
    *("glibc-too-old", "python-unsupported", "python-headers-missing"),
)


def of_verdict(verdict: Verdict) -> int:
    """0 ready, also with warnings; 1 blocked; 3 unknown."""
    return int(_VERDICTS[verdict])


def of_plan(report: CheckReport) -> int:
    """0 where the plan leads to a server; 1 where nothing runs here, the model does not fit, or the host must be repaired first.

    A broken environment is no obstacle: the plan makes a fresh one. 3 where a deciding fact is not known.
    """
    plan = report.plan
    if plan is None or (plan.stack is None and report.verdict is not Verdict.UNKNOWN):
        return int(ExitCode.BLOCKED)
    if plan.size is not None and plan.size.verdict == "does-not-fit":
        return int(ExitCode.BLOCKED)
    if report.verdict is Verdict.BLOCKED and _stays(report.findings):
        return int(ExitCode.BLOCKED)
    return int(ExitCode.UNKNOWN if report.verdict is Verdict.UNKNOWN else ExitCode.READY)


def _stays(findings: Iterable[Finding]) -> bool:
    """Whether an error outlives a fresh environment: one of the host, of the model, or of what was asked for."""
    from envcheck.rules.registry import ENVIRONMENT_RULES

    led_round = {*_OF_WHEELS, *(code for rule in ENVIRONMENT_RULES for code in rule.codes)}
    return any(finding.severity is Severity.ERROR and finding.code not in led_round for finding in findings)


def of_size(verdict: SizeVerdict) -> int:
    """0 fits or tight; 1 does not fit; 3 unknown."""
    return int(_SIZES[verdict])
