"""The answer of `diagnose` as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.model.diagnosis import Diagnosis, Seen, Status
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.jsonmodel import RemedyOut

DIAGNOSIS_SCHEMA = "envcheck.diagnosis/1"


class LineOut(msgspec.Struct, frozen=True):
    """A line of the log: its number from 1, and its text, shortened; `file` = which of several it stands in (null = there is one)."""

    number: int
    text: str
    file: str | None = None


class CauseOut(msgspec.Struct, frozen=True):
    """One cause: the finding, the line that tells it, what the line holds, what to do, and common advice that is wrong (null = none)."""

    code: str
    severity: str
    title: str
    detail: str
    line: LineOut
    evidence: dict[str, Any]
    remedies: list[RemedyOut]
    avoid: str | None
    sources: list[str]


class DiagnosisOut(msgspec.Struct, frozen=True):
    """What a log tells. `status` `cause`, `unknown` (then `telling` = lines that say that something failed) or `nothing`."""

    schema: str
    status: Status
    causes: list[CauseOut]
    telling: list[LineOut]
    lines: int


def diagnosis_out(found: Diagnosis, catalogue: Catalogue) -> DiagnosisOut:
    """A diagnosis with its sentences in the catalogue's language."""
    causes = [
        CauseOut(
            finding.code,
            finding.severity.value,
            catalogue.title(finding.code),
            catalogue.text(finding.detail),
            _line(seen),
            finding.evidence,
            [RemedyOut(remedy.kind, list(remedy.commands), remedy.needs_root, catalogue.text(remedy.note)) for remedy in finding.remedies],
            catalogue.warned(finding),
            list(finding.sources),
        )
        for finding, seen in zip(found.findings, found.seen, strict=True)
    ]
    return DiagnosisOut(DIAGNOSIS_SCHEMA, found.status, causes, [_line(seen) for seen in found.telling], found.lines)


def _line(seen: Seen) -> LineOut:
    return LineOut(seen.number, clean(seen.text), seen.file)
