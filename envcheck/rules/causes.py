"""Root cause first: findings that only follow from another one are folded under it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Severity

RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Errors, warnings, infos, each in the order given, which is causal; a code said once in its gravest form."""
    seen: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda finding: RANK[finding.severity]):
        seen.setdefault(finding.code, finding)
    return list(seen.values())


def fold(findings: list[Finding], matrix: Matrix) -> tuple[Finding, ...]:
    """The findings with those that follow from a graver or equal one as its `consequences`.

    A finding goes under the first that explains it; what it explains itself goes along. The order stays.
    """
    if len(findings) < 2:
        return tuple(findings)
    parents = _parents(findings, matrix)
    children: dict[str, list[Finding]] = {}
    for finding in findings:
        root = _root(finding.code, parents)
        if root != finding.code:
            children.setdefault(root, []).append(finding)
    tops = (finding for finding in findings if finding.code not in parents)
    return tuple(replace(finding, consequences=tuple(children[finding.code])) if finding.code in children else finding for finding in tops)


def _parents(findings: list[Finding], matrix: Matrix) -> dict[str, str]:
    """Code → the code under which it goes. Two that explain each other would both vanish: the earlier one stays on top."""
    parents: dict[str, str] = {}
    for place, finding in enumerate(findings):
        explained = matrix.causes.get(finding.code)
        if not explained:
            continue
        for other_place, other in enumerate(findings):
            if other.code not in explained or other.code in parents or RANK[finding.severity] > RANK[other.severity]:
                continue
            mutual = finding.code in matrix.causes.get(other.code, ())
            if not (mutual and other_place < place) and _root(finding.code, parents) != other.code:
                parents[other.code] = finding.code
    return parents


def _root(code: str, parents: dict[str, str]) -> str:
    while code in parents:
        code = parents[code]
    return code
