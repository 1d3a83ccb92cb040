"""Findings as text: root cause first, a few unless asked for all, each with its way out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page
from envcheck.render.paint import OF_SEVERITY

_INDENT = "    "


def write_findings(page: Page, findings: Sequence[Finding], limit: int, verbose: bool, said: Collection[str] = ()) -> None:
    """At most `limit` findings (all with `verbose`, then with evidence and sources), and how many were held back.

    `said` = what stands on the page already: details and, without `verbose`, ways out (`as_said`) that are not said again.
    """
    if not findings:
        return
    page.heading("findings.heading", counts=_counts(page, findings))
    shown = findings if verbose else findings[:limit]
    for finding in shown:
        _write_finding(page, finding, verbose, said)
    if len(shown) < len(findings):
        page.say("findings.more", indent="  ", role="faint", count=len(findings) - len(shown))


def _counts(page: Page, findings: Sequence[Finding]) -> tuple[str, ...]:
    counted = [(severity, sum(finding.severity is severity for finding in findings)) for severity in Severity]
    return tuple(
        page.catalogue.say(f"findings.count.{severity.value}.{'one' if count == 1 else 'many'}", count=count)
        for severity, count in counted
        if count
    )


def _write_finding(page: Page, finding: Finding, verbose: bool, said: Collection[str]) -> None:
    label = page.catalogue.say(f"severity.{finding.severity.value}")
    head = page.catalogue.say("findings.head", severity=label, title=page.catalogue.title(finding.code), code=finding.code)
    page.write(head, "  ", role=OF_SEVERITY[finding.severity])
    detail = page.catalogue.text(finding.detail)
    if detail not in said:
        page.write(detail, _INDENT)
    # A note is worth a line; what to do about it comes with the rest.
    shortly = () if finding.severity is Severity.INFO else finding.remedies[:1]
    for remedy in finding.remedies if verbose else shortly:
        if verbose or as_said(remedy, page.catalogue) not in said:
            write_remedy(page, remedy, _INDENT)
    if finding.consequences:
        follows = tuple(page.catalogue.title(inner.code) for inner in finding.consequences)
        page.write(page.catalogue.say("findings.consequences", titles=follows), _INDENT, role="faint")
    if verbose:
        _write_grounds(page, finding)


def _write_grounds(page: Page, finding: Finding) -> None:
    """The facts a finding rests on with where each was read, and what it was learnt from."""
    if finding.facts:
        seen = tuple(
            page.catalogue.say("findings.fact", path=fact.path, value=fact.value, source=fact.source or "-") for fact in finding.facts
        )
        page.write(page.catalogue.say("findings.facts"), _INDENT, role="faint")
        for line in seen:
            page.write(line, _INDENT + "  ", role="faint")
    elif finding.evidence:
        evidence = msgspec.json.encode(finding.evidence).decode("utf-8", "replace")
        page.write(page.catalogue.say("findings.evidence", evidence=evidence), _INDENT, role="faint")
    if finding.sources:
        page.write(page.catalogue.say("findings.sources", sources=finding.sources), _INDENT, role="faint")


def as_said(remedy: Remedy, catalogue: Catalogue) -> str:
    """What tells a way out from others: its sentence and its commands, since the same sentence may stand above other commands."""
    return "\n".join((catalogue.text(remedy.note), *remedy.commands))


def write_remedy(page: Page, remedy: Remedy, indent: str) -> None:
    """A way out and its commands."""
    key = "findings.fix-root" if remedy.needs_root else "findings.fix"
    page.write(page.catalogue.say(key, note=page.catalogue.text(remedy.note)), indent + "   ", first=indent)
    for command in remedy.commands:
        page.shell(command, indent + "  ")
