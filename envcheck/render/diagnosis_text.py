"""A diagnosis for people: one sentence what happened, the line that says so, what to do; and as markdown for an issue."""

from __future__ import annotations

from envcheck.model.diagnosis import Diagnosis, Seen
from envcheck.model.finding import Finding
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.findings_text import write_remedy
from envcheck.render.page import Page
from envcheck.render.paint import OF_SEVERITY, Paint, plain


def diagnosis_text(found: Diagnosis, catalogue: Catalogue, paint: Paint = plain, *, verbose: bool = False, brief: bool = False) -> str:
    """The answer of `diagnose`, at most 80 columns but for commands."""
    page = Page(catalogue, paint)
    if found.status == "nothing":
        page.say("diagnose.nothing" if found.lines else "diagnose.empty", role="good" if found.lines else "caution", lines=found.lines)
        return page.finish()
    if found.status == "unknown":
        _write_unknown(page, found)
        return page.finish()
    for place, (finding, seen) in enumerate(zip(found.findings, found.seen, strict=True)):
        if place == 1:
            page.heading("diagnose.also")
        _write(page, finding, seen, verbose=verbose, brief=brief)
        if brief:
            break
    if not brief:
        page.blank()
        page.say("diagnose.explain", role="faint", code=found.findings[0].code)
    return page.finish()


def _write(page: Page, finding: Finding, seen: Seen, *, verbose: bool, brief: bool) -> None:
    head = page.catalogue.say("diagnose.cause", title=page.catalogue.title(finding.code), code=finding.code)
    page.write(head, role=OF_SEVERITY[finding.severity])
    page.write(page.catalogue.text(finding.detail), "  ")
    if brief:
        return
    _write_place(page, seen)
    page.write(clean(seen.text), "    ", role="faint")
    for remedy in finding.remedies:
        write_remedy(page, remedy, "  ")
    wrong = page.catalogue.warned(finding)
    if wrong:
        page.say("diagnose.avoid", indent="  ", role="caution", advice=wrong)
    if verbose and finding.sources:
        page.say("findings.sources", indent="  ", role="faint", sources=finding.sources)


def _write_place(page: Page, seen: Seen) -> None:
    if seen.file is None:
        page.say("diagnose.line", indent="  ", role="faint", number=seen.number)
    else:
        page.say("diagnose.line-of", indent="  ", role="faint", number=seen.number, file=seen.file)


def _write_unknown(page: Page, found: Diagnosis) -> None:
    page.say("diagnose.unknown", role="caution", lines=found.lines)
    for seen in found.telling:
        _write_place(page, seen)
        page.write(clean(seen.text), "    ")
    page.blank()
    page.say("diagnose.unknown-next")


def diagnosis_markdown(found: Diagnosis, catalogue: Catalogue) -> str:
    """The same to paste into an issue: nothing in it is taken for markup."""
    if found.status != "cause":
        return _plain_markdown(found, catalogue)
    lines: list[str] = []
    for finding, seen in zip(found.findings, found.seen, strict=True):
        lines += [f"**{_inert(catalogue.title(finding.code))}** (`{finding.code}`)", "", _inert(catalogue.text(finding.detail)), ""]
        lines += _fenced(f"{seen.number}: {_nobodys(clean(seen.text))}")
        for remedy in finding.remedies:
            lines += [f"- {_inert(catalogue.text(remedy.note))}"]
            lines += [line for command in remedy.commands for line in _fenced(clean(command))]
        lines += [""]
    return "\n".join(lines)


def _plain_markdown(found: Diagnosis, catalogue: Catalogue) -> str:
    said = catalogue.say(f"diagnose.{found.status}", lines=found.lines)
    return "\n".join([_inert(said), "", *_fenced(*(f"{seen.number}: {_nobodys(clean(seen.text))}" for seen in found.telling))]) + "\n"


def _nobodys(line: str) -> str:
    """The line without the names of people in its paths."""
    from re import sub  # noqa: PLC0415  # only for markdown

    return sub(r"/(home|Users)/[^/\s'\"]+", r"/\1/USER", line)


def _fenced(*lines: str) -> list[str]:
    """Lines in a fence longer than any within."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in _runs(line)), default=0))
    return [fence, *lines, fence] if lines else []


def _runs(line: str) -> list[str]:
    from re import findall  # noqa: PLC0415  # only for markdown

    return findall(r"`+", line)


def _inert(text: str) -> str:
    return "".join("\\" + char if char in "\\*_{}[]<>#|" else char for char in text)
