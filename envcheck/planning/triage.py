"""What a host and a log say together: the log names the failure, the host decides what a line leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Severity
from envcheck.rules.causes import fold

_OF_SIGNATURE = "signature"


def merged(of_log: Sequence[Finding], of_host: Sequence[Finding], matrix: Matrix) -> tuple[Finding, ...]:
    """The findings of both, root cause first, none said twice.

    A rule that found the same, or one of the codes that the log's line can stand for, or what explains it, comes first: it names the two
    values that clash. Else the log's cause does: it is what happened.
    """
    if not of_log:
        return tuple(of_host)
    first = of_log[0]
    others = _others(first, matrix)
    same = next((rule for rule in of_host if rule.code == first.code and rule.severity is not Severity.INFO), None)
    decided = same or next((rule for rule in of_host if rule.code in others and rule.severity is Severity.ERROR), None)
    root = decided or next((rule for rule in of_host if rule.severity is Severity.ERROR and _explains(rule, first, matrix)), None)
    if root is None:
        rest = [rule for rule in of_host if rule.code not in {finding.code for finding in of_log}]
        return (*of_log, *_below(rest))
    found = {root.code} | ({first.code} if root in (same, decided) else set())
    rest = [finding for finding in (*of_log, *of_host) if finding.code not in found]
    told = replace(root, origin="log", sources=tuple(dict.fromkeys((*root.sources, *first.sources))))
    return fold([told, *_below(rest)], matrix)


def _others(finding: Finding, matrix: Matrix) -> tuple[str, ...]:
    """The codes that the line can also stand for."""
    name = finding.evidence.get(_OF_SIGNATURE)
    return next((tuple(one.others) for one in matrix.signatures if one.id == name), ())


def _explains(rule: Finding, told: Finding, matrix: Matrix) -> bool:
    return told.code in matrix.causes.get(rule.code, ())


def _below(findings: Sequence[Finding]) -> list[Finding]:
    """Errors first, since a reader follows few."""
    return sorted(findings, key=lambda finding: list(Severity).index(finding.severity))
