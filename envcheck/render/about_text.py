"""The text and the JSON of what is known of one argument or variable, and of claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from envcheck.planning.about import About, Form, Span, Syntax
from envcheck.render.catalogue import Catalogue
from envcheck.render.claims import ClaimOut
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain

ABOUT_SCHEMA = "envcheck.about/1"
_MOST_CHOICES = 24


class SuccessorOut(msgspec.Struct, frozen=True):
    """What does its work in releases that have it not; null = nothing does."""

    releases: Span
    instead: str | None
    advice: str


class AboutOut(msgspec.Struct, frozen=True):
    """One argument or variable; null where the question was about claims. `value_in` null = not asked, or any value is taken."""

    name: str | None
    kind: Literal["argument", "variable", "never"] | None
    releases: tuple[Span, ...]
    deprecated: tuple[Span, ...]
    forms: tuple[Form, ...]
    successors: list[SuccessorOut]
    value: str | None
    value_in: tuple[Span, ...] | None
    claims: list[ClaimOut]
    switches_off: str | None = None
    value_open: tuple[Span, ...] = ()
    syntaxes: tuple[Syntax, ...] = ()
    schema: str = ABOUT_SCHEMA


def about_out(found: About | None, claims: list[ClaimOut], catalogue: Catalogue) -> AboutOut:
    """The JSON form; without `found`, claims alone."""
    if found is None:
        return AboutOut(None, None, (), (), (), [], None, None, claims)
    successors = [SuccessorOut(one.releases, one.instead, catalogue.text(one.why)) for one in found.successors]
    return AboutOut(
        found.name,
        found.kind,
        found.releases,
        found.deprecated,
        found.forms,
        successors,
        found.value,
        found.value_in,
        claims,
        found.switches_off,
        found.value_open,
        found.syntaxes,
    )


def about_text(out: AboutOut, catalogue: Catalogue, paint: Paint = plain) -> str:
    """The name, its releases, the value asked about, forms, what does its work, claims."""
    page = Page(catalogue, paint)
    if out.name is not None:
        page.write(out.name, role="heading")
        key = "about.off" if out.switches_off else f"about.{out.kind}"
        page.say(key, indent="  ", name=out.switches_off or out.name, releases=_spans(out.releases, catalogue))
        if out.deprecated:
            page.say("about.deprecated", indent="  ", role="caution", releases=_spans(out.deprecated, catalogue))
        _value(page, out)
        _forms(page, out.forms, out.syntaxes)
        _successors(page, out)
    claims_on(page, out.claims, "about.claims" if out.name is not None else "about.claims-alone")
    return page.finish()


def claims_on(page: Page, claims: Sequence[ClaimOut], heading: str) -> None:
    """Claims below a heading, each with its answer."""
    if claims:
        page.heading(heading)
    for claim in claims:
        page.write(page.catalogue.say("about.said", claim=claim.said), indent="    ", first="  - ", role="caution")
        page.write(claim.answer, indent="    ")


def _spans(spans: tuple[Span, ...], catalogue: Catalogue) -> str:
    return catalogue.listed(span.first if span.first == span.last else f"{span.first} - {span.last}" for span in spans)


def _value(page: Page, out: AboutOut) -> None:
    if out.value is None or out.value_in is None:
        return
    key = "about.value" if out.value_in else "about.value-never"
    page.say(key, indent="  ", role=None if out.value_in else "bad", value=out.value, releases=_spans(out.value_in, page.catalogue))
    if out.value_open:
        page.say("about.value-open", indent="  ", value=out.value, releases=_spans(out.value_open, page.catalogue))


def _forms(page: Page, forms: tuple[Form, ...], syntaxes: tuple[Syntax, ...]) -> None:
    if syntaxes:
        page.heading("about.forms")
        for one in syntaxes:
            listed = _spans(one.releases, page.catalogue)
            page.write(page.catalogue.say("about.written-as", releases=listed, example=one.example), indent="    ", first="  - ")
        return
    if not any(form.choices or form.switch or form.default is not None for form in forms):
        return
    page.heading("about.forms")
    for form in forms:
        parts = [_spans((form.releases,), page.catalogue) + ":", page.catalogue.say("about.switch" if form.switch else "about.takes")]
        if form.choices and not form.switch:
            more = ("...",) if len(form.choices) > _MOST_CHOICES else ()
            parts.append(page.catalogue.listed((*form.choices[:_MOST_CHOICES], *more)))
        if form.default is not None:
            parts.append(page.catalogue.say("about.default", value=form.default))
        page.write(" ".join(parts), indent="    ", first="  - ")


def _successors(page: Page, out: AboutOut) -> None:
    if not out.successors:
        return
    page.heading("about.successors")
    for one in out.successors:
        page.write(f"{_spans((one.releases,), page.catalogue)}: {one.advice}", indent="    ", first="  - ")
