"""The text of `envcheck size`: where each GiB goes, what fits, and why not where it does not."""

from __future__ import annotations

from envcheck.model.budget import SizeResult
from envcheck.render.catalogue import Catalogue
from envcheck.render.commands import quote
from envcheck.render.layout import cells, pad
from envcheck.render.page import Page
from envcheck.render.paint import Paint, Role, plain

_ROLE: dict[str, Role] = {"fits": "good", "tight": "caution", "does-not-fit": "bad", "unknown": "caution"}


def size_text(
    size: SizeResult,
    subject: str,
    catalogue: Catalogue,
    *,
    verbose: bool = False,
    brief: bool = False,
    note: str = "",
    paint: Paint = plain,
) -> str:
    """The memory budget of one GPU; `subject` names the model and its GPU, `note` what else to know; `brief` stops there."""
    page = Page(catalogue, paint)
    page.say(f"size.{size.verdict}", role=_ROLE[size.verdict], subject=subject)
    if note:
        page.write(note, indent="  ")
    if size.verdict == "does-not-fit" and size.suggested.serve_args:
        page.say("size.fits-with", indent="  ")
    if brief:
        return page.finish()
    write_shortage(page, size)
    write_account(page, size, verbose)
    _write_suggestion(page, size)
    page.blank()
    page.say(f"size.confidence-{size.confidence}", role="faint")
    return page.finish()


def write_shortage(page: Page, size: SizeResult) -> None:
    """What fails, or what was missing for the arithmetic; nothing where it fits."""
    _write_failure(page, size)
    for unknown in size.unknowns:
        page.write(page.catalogue.text(unknown), indent="    ", first="  - ")


def write_account(page: Page, size: SizeResult, verbose: bool = False) -> None:
    """The table of terms and the KV cache."""
    _write_terms(page, size, verbose)
    _write_cache(page, size)


def _gib(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"


def _write_failure(page: Page, size: SizeResult) -> None:
    failure = size.failure
    if failure is None:
        return
    page.say(f"size.failure.{failure.kind}", indent="  ")
    if failure.needed_gib is not None and failure.available_gib is not None:
        page.say("size.needed-available", indent="  ", needed=_gib(failure.needed_gib), available=_gib(failure.available_gib))
    if failure.max_model_len is not None:
        page.say("size.max-model-len", indent="  ", tokens=failure.max_model_len)


def _write_terms(page: Page, size: SizeResult, verbose: bool) -> None:
    """One line a term; what the budget does not pay for stands in brackets. `verbose` says below each where it comes from."""
    if not size.account:
        return
    terms = size.per_gpu_gib
    page.heading("size.terms", budget=_gib(terms.budget), total=_gib(terms.total))
    labels = [page.catalogue.say(f"size.term.{line.term}") for line in size.account]
    widest = max(map(cells, labels))
    for label, line in zip(labels, size.account, strict=True):
        figure = _gib(line.gib) if line.charged else f"({_gib(line.gib)})"
        page.raw(f"  {pad(label, widest)}  {figure:>8}")
        if verbose or size.derivations:
            page.write(page.catalogue.text(line.text), indent="      ", role="faint")
        _write_derivation(page, size, line.term)
    if not all(line.charged for line in size.account):
        page.say("size.not-charged", indent="  ", role="faint")


def _write_derivation(page: Page, size: SizeResult, term: str) -> None:
    """How a figure is arrived at, where that was asked for."""
    made = size.derivations.get(term)
    if made is None:
        return
    page.say("size.explain.formula", indent="      ", formula=page.catalogue.text(made.formula))
    if made.inputs:
        page.say(
            "size.explain.inputs", indent="      ", role="faint", listed=", ".join(f"{name} {value}" for name, value in made.inputs.items())
        )
    if made.parts:
        unit = "B" if term == "bytes_per_token" else "GiB"
        listed = ", ".join(f"{name} {value:g} {unit}" for name, value in made.parts.items())
        page.say("size.explain.parts", indent="      ", role="faint", listed=listed)
    if made.releases:
        page.say("size.explain.releases", indent="      ", role="faint", releases=made.releases)
    if made.sources:
        page.say("size.explain.sources", indent="      ", role="faint", listed=", ".join(made.sources))


def _write_cache(page: Page, size: SizeResult) -> None:
    cache = size.kv
    if not cache.tokens or cache.bytes_per_token is None:
        return
    page.blank()
    page.say("size.cache", tokens=cache.tokens, bytes=cache.bytes_per_token)
    _write_derivation(page, size, "bytes_per_token")
    if cache.max_concurrency is not None:
        page.say("size.concurrency", requests=cache.max_concurrency)


def _write_suggestion(page: Page, size: SizeResult) -> None:
    if not size.suggested.serve_args:
        return
    page.heading("size.suggested")
    reasons = [page.catalogue.text(why) for why in size.suggested.why]
    for index, (name, value) in enumerate(size.suggested.serve_args.items()):
        page.raw("  " + serve_flag(name, value))
        if index < len(reasons):
            page.write(reasons[index], indent="      ", role="faint")


def serve_flag(name: str, value: object) -> str:
    """A serve argument as typed: `--max-model-len 8192`, a true switch without its value."""
    flag = "--" + name.replace("_", "-")
    return quote(flag) if value is True else f"{quote(flag)} {quote(str(value))}"
