"""The text of `envcheck size`: where each GiB goes, what fits, and why not where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcheck.model.budget import AccountLine, SizeResult
from envcheck.render.bar import bar, marks
from envcheck.render.catalogue import Catalogue
from envcheck.render.layout import cells, pad
from envcheck.render.page import Page
from envcheck.render.paint import Paint, Role, plain
from envcheck.render.size_flag import serve_flag

if TYPE_CHECKING:
    from envcheck.render.size_parts import Around

_ROLE: dict[str, Role] = {"fits": "good", "tight": "caution", "does-not-fit": "bad", "unknown": "caution"}
_WORTH_SAYING_GIB = 0.1  # an interval narrower than this is as good as exact


def size_text(
    size: SizeResult,
    subject: str,
    catalogue: Catalogue,
    *,
    verbose: bool = False,
    brief: bool = False,
    paint: Paint = plain,
    around: Around | None = None,
) -> str:
    """The memory budget of one GPU; `subject` names the model and its GPU, `around` what else to know; `brief` stops there."""
    page = Page(catalogue, paint)
    if around is not None and around.findings and size.verdict in ("fits", "tight"):
        page.say("size.fits-refused", role="bad", subject=subject)
    else:
        page.say(f"size.{size.verdict}", role=_ROLE[size.verdict], subject=subject)
    if around is not None:
        from envcheck.render.size_around import write_blocks, write_processes, write_starts  # noqa: PLC0415  # a plan has nothing of it

        write_blocks(page, around)
        if around.note:
            page.write(around.note, indent="  ")
    if size.verdict == "does-not-fit" and size.suggested.serve_args:
        page.say("size.fits-with", indent="  ")
    if brief:
        return page.finish()
    write_shortage(page, size)
    if around is not None:
        write_processes(page, around)
    write_account(page, size, verbose, around.fancy if around is not None else None)
    if around is not None:
        write_starts(page, around)
    if around is None:
        _write_suggestion(page, size)
    else:
        _write_around(page, size, around)
    page.blank()
    page.say(f"size.confidence-{size.confidence}", role="faint")
    return page.finish()


def _write_around(page: Page, size: SizeResult, around: Around) -> None:
    from envcheck.render.size_around import write_claims, write_load, write_source, write_steps  # noqa: PLC0415  # as above

    write_load(page, size, around)
    _write_suggestion(page, size)
    write_steps(page, around)
    write_claims(page, around)
    page.blank()
    write_source(page, around.model)


def write_shortage(page: Page, size: SizeResult) -> None:
    """What fails, or what was missing for the arithmetic; nothing where it fits."""
    _write_failure(page, size)
    for unknown in size.unknowns:
        page.write(page.catalogue.text(unknown), indent="    ", first="  - ")


def write_account(page: Page, size: SizeResult, verbose: bool = False, drawn: bool | None = None) -> None:
    """The table of terms and the KV cache; `drawn` = with a bar, of more than ASCII's letters where true."""
    _write_terms(page, size, verbose, drawn)
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


def _drawn(size: SizeResult) -> list[AccountLine]:
    """The terms that are on the GPU together: those paid for, and graphs beside the budget."""
    return [line for line in size.account if line.gib > 0 and (line.charged or line.term == "cuda_graphs")]


def _write_terms(page: Page, size: SizeResult, verbose: bool, drawn: bool | None = None) -> None:
    """One line a term; what the budget does not pay for stands in brackets. `verbose` says below each where it comes from."""
    if not size.account:
        return
    terms = size.per_gpu_gib
    page.heading("size.terms", budget=_gib(terms.budget), total=_gib(terms.total))
    labels = [page.catalogue.say(f"size.term.{line.term}") for line in size.account]
    if drawn is not None and terms.total:
        parts = _drawn(size)
        page.raw("  " + bar([part.gib for part in parts], terms.total, drawn))
        shown = dict(zip(map(id, parts), marks(len(parts), drawn), strict=True))
        labels = [f"{shown.get(id(line), ' ')} {label}" for line, label in zip(size.account, labels, strict=True)]
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
    if cache.interval_gib is not None and cache.interval_gib[1] - cache.interval_gib[0] >= _WORTH_SAYING_GIB:
        low, high = (max(0.0, bound) for bound in cache.interval_gib)
        page.say("size.interval", role="faint", low=_gib(low), high=_gib(high))


def _write_suggestion(page: Page, size: SizeResult) -> None:
    if not size.suggested.serve_args:
        return
    page.heading("size.suggested")
    reasons = [page.catalogue.text(why) for why in size.suggested.why]
    for index, (name, value) in enumerate(size.suggested.serve_args.items()):
        page.raw("  " + serve_flag(name, value))
        if index < len(reasons):
            page.write(reasons[index], indent="      ", role="faint")
