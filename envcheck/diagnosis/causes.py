"""From the lines that bear signatures to findings, the first cause first."""

from __future__ import annotations

import shlex

import msgspec

from envcheck.diagnosis.scan import Hit, Scan
from envcheck.matrix.load import Matrix
from envcheck.matrix.signatures import Fix, Signature
from envcheck.model.diagnosis import Diagnosis, Seen, Status
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.text import Param, Text

_QUOTED = 240  # characters of a line that are shown
_MOST = 3  # causes that a reader still follows
_TELLING = 5


def diagnosis_of(scan: Scan, matrix: Matrix) -> Diagnosis:
    """The findings of a log: what failed first, then what else failed that does not follow from it.

    Lines of errors come before those of warnings; symptoms and wrappers count only where no cause is found.
    """
    hits = _leading(scan.hits)
    found: dict[str, tuple[Hit, Finding]] = {}
    for hit in hits:
        code = hit.fit.signature.code
        if code not in found:
            found[code] = (hit, _finding(hit))
    kept = _unexplained([finding for _, finding in found.values()], matrix)[:_MOST]
    seen = tuple(Seen(found[finding.code][0].number, _quoted(found[finding.code][0].line)) for finding in kept)
    telling = () if kept else tuple(Seen(number, _quoted(line)) for number, line in scan.telling[:_TELLING])
    status: Status = "cause" if kept else "unknown" if scan.failed or scan.hits else "nothing"
    return Diagnosis(status, tuple(kept), seen, telling, scan.lines)


def _quoted(line: str) -> str:
    """The line as far as it is shown, cut between words."""
    return line if len(line) <= _QUOTED else line[:_QUOTED].rsplit(" ", 1)[0] + " …"


def _leading(hits: list[Hit]) -> list[Hit]:
    """The lines that count: of errors the causes, else the symptoms; where there is no error, the warnings; the infos last."""
    for severity in ("error", "warning", "info"):
        of_it = [hit for hit in hits if hit.fit.signature.severity == severity]
        for role in ("cause", "symptom"):
            found = [hit for hit in of_it if hit.fit.signature.role == role]
            if found:
                return _first(found)
    return []


def _first(hits: list[Hit]) -> list[Hit]:
    """In the order of the log; of lines that name the same code, one that captured more speaks for all."""
    best: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: hit.number):
        other = best.get(hit.fit.signature.code)
        if other is None or (hit.sure, len(hit.fit.values)) > (other.sure, len(other.fit.values)):
            best[hit.fit.signature.code] = hit if other is None else msgspec.structs.replace(hit, number=other.number)
    return sorted(best.values(), key=lambda hit: hit.number)


def _unexplained(findings: list[Finding], matrix: Matrix) -> list[Finding]:
    """Without those that follow from an earlier one."""
    kept: list[Finding] = []
    for finding in findings:
        if not any(finding.code in matrix.causes.get(before.code, ()) for before in kept):
            kept.append(finding)
    return kept


def _finding(hit: Hit) -> Finding:
    signature = hit.fit.signature
    params: dict[str, Param] = dict(hit.fit.values)
    return Finding(
        signature.code,
        Severity(signature.severity),
        Text(f"signature.{signature.id}", params),
        {**hit.fit.values, "line": hit.number, "signature": signature.id},
        tuple(_remedy(signature, place, fix, params) for place, fix in enumerate(signature.fixes, 1)),
        tuple(signature.sources),
        "log",
    )


def _remedy(signature: Signature, place: int, fix: Fix, params: dict[str, Param]) -> Remedy:
    key = f"signature.{signature.id}.fix" + (f"-{place}" if place > 1 else "")
    return Remedy(fix.kind, Text(key, params), tuple(_filled(command, params) for command in fix.commands), fix.root)


def _filled(command: str, params: dict[str, Param]) -> str:
    """A command with what the line captured, quoted for the shell: the log is not ours."""
    for name, value in params.items():
        command = command.replace(f"{{{name}}}", shlex.quote(str(value)))
    return command
