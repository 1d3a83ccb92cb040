"""The text of `envcheck explain` and of `envcheck matrix validate`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envcheck.render.catalogue import Catalogue
from envcheck.render.explain_page import softened
from envcheck.render.jsonmodel import ExplainOut, ValidateOut
from envcheck.render.layout import pad
from envcheck.render.page import Page
from envcheck.render.paint import Paint, Role, plain
from envcheck.render.themes import THEMES

_CODE_CELLS = 30
_ROLES: dict[str, Role] = {"error": "bad", "warning": "caution", "info": "faint"}


def explain_text(page_out: ExplainOut, catalogue: Catalogue, paint: Paint = plain) -> str:
    """One code in full: each part under its heading."""
    page = Page(catalogue, paint)
    page.write(f"{page_out.code}: {page_out.title}", role="heading")
    for name, text in (("what", page_out.what), ("why", page_out.why)):
        page.heading(f"explain.{name}")
        page.write(text, indent="  ")
    _severity(page, page_out)
    _detection(page, page_out)
    page.heading("explain.check")
    page.write(page_out.check, indent="  ")
    page.heading("explain.fix")
    steps = page_out.fix.splitlines()
    _items(page, steps, (f"  {number}. " for number in range(1, len(steps) + 1)) if len(steps) > 1 else ("  ",))
    page.heading("explain.avoid")
    _items(page, page_out.avoid.splitlines(), ("  - ",) * page_out.avoid.count("\n") + ("  - ",))
    _related(page, page_out)
    if page_out.sources:
        page.heading("explain.sources")
        _items(page, page_out.sources, ("  - ",) * len(page_out.sources))
    return page.finish()


def _items(page: Page, texts: Sequence[str], leads: Iterable[str]) -> None:
    for text, lead in zip(texts, leads, strict=True):
        page.write(text, indent=" " * len(lead), first=lead)


def _severity(page: Page, page_out: ExplainOut) -> None:
    page.heading("explain.severity")
    for kind, when in page_out.severity.items():
        severity = page.catalogue.say(f"severity.{kind}")
        page.write(page.catalogue.say("explain.severity-line", severity=severity, when=when), indent="    ", first="  ", role=_ROLES[kind])
    if "error" in page_out.severity and softened(page_out.code):
        page.say("explain.fresh", indent="  ")
    if page_out.settled_by and tuple(page_out.severity) != ("info",):
        page.say("explain.settled", indent="  ", facts=page.catalogue.listed(page_out.settled_by))


def _detection(page: Page, page_out: ExplainOut) -> None:
    page.heading("explain.detection")
    for way in page_out.detected_by:
        page.say(f"explain.detection-{way}", indent="  ", facts=page.catalogue.listed(page_out.reads))


def _related(page: Page, page_out: ExplainOut) -> None:
    if not (page_out.explains or page_out.explained_by):
        return
    page.heading("explain.related")
    for key, codes in (("explain.explained-by", page_out.explained_by), ("explain.explains", page_out.explains)):
        if codes:
            page.say(key, indent="  ", codes=page.catalogue.listed(codes))


def codes_text(catalogue: Catalogue, paint: Paint = plain) -> str:
    """Every code with its title, theme by theme."""
    page = Page(catalogue, paint)
    for theme, codes in THEMES:
        page.heading(f"theme.{theme}")
        _titles(page, codes)
    page.blank()
    page.say("explain.list", role="faint")
    return page.finish()


def found_text(words: str, codes: Sequence[str], catalogue: Catalogue, paint: Paint = plain) -> str:
    """The codes that words speak of, with their titles."""
    page = Page(catalogue, paint)
    page.say("explain.found", count=len(codes), words=words)
    _titles(page, codes)
    return page.finish()


def _titles(page: Page, codes: Sequence[str]) -> None:
    for code in codes:
        page.write(page.catalogue.title(code), indent=" " * (_CODE_CELLS + 2), first=f"  {pad(code, _CODE_CELLS)}")


def validate_text(answer: ValidateOut, catalogue: Catalogue, paint: Paint = plain) -> str:
    """The faults of the records, one a paragraph, or that there are none."""
    page = Page(catalogue, paint)
    for problem in answer.problems:
        page.write(f"{problem.file}: {problem.path}: {problem.what}", indent="    ", first="", role="bad")
    key = "validate.faults" if answer.problems else "validate.fine"
    page.say(key, role="bad" if answer.problems else "good", directory=answer.directory, date=answer.date, count=len(answer.problems))
    return page.finish()
