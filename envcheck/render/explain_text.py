"""The text of `envcheck explain` and of `envcheck matrix validate`."""

from __future__ import annotations

from envcheck.render.catalogue import Catalogue
from envcheck.render.jsonmodel import ExplainOut, ValidateOut
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain


def explain_text(page_out: ExplainOut, catalogue: Catalogue, paint: Paint = plain) -> str:
    """One code in full: the parts that are known, each under its heading."""
    page = Page(catalogue, paint)
    page.write(f"{page_out.code}: {page_out.title}", role="heading")
    for name, text in (("what", page_out.what), ("why", page_out.why), ("check", page_out.check), ("fix", page_out.fix)):
        if text:
            page.heading(f"explain.{name}")
            page.write(text, indent="  ")
    return page.finish()


def codes_text(codes: tuple[str, ...], catalogue: Catalogue, paint: Paint = plain) -> str:
    """Every code with its title."""
    page = Page(catalogue, paint)
    for code in codes:
        page.write(f"{code}: {catalogue.title(code)}", indent="    ", first="")
    return page.finish()


def validate_text(answer: ValidateOut, catalogue: Catalogue, paint: Paint = plain) -> str:
    """The faults of the records, one a paragraph, or that there are none."""
    page = Page(catalogue, paint)
    for problem in answer.problems:
        page.write(f"{problem.file}: {problem.path}: {problem.what}", indent="    ", first="", role="bad")
    key = "validate.faults" if answer.problems else "validate.fine"
    page.say(key, role="bad" if answer.problems else "good", directory=answer.directory, date=answer.date, count=len(answer.problems))
    return page.finish()
