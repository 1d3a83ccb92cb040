"""What stands around a memory budget: the load and the steps that serve it, other cards and variants, where the model was read."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.model.budget import SizeResult
from envcheck.model.modelspec import ModelSpec
from envcheck.model.relief import COUNTS, CardNeeded, Load, ReliefStep
from envcheck.render.commands import quote
from envcheck.render.layout import WIDTH, cells, pad
from envcheck.render.page import Page
from envcheck.render.size_flag import serve_flag, serve_line
from envcheck.render.size_parts import Around, HostMemory

_NARROW = 30  # cells of the first column where it would push the others off the line: longer words stand on a line of their own
_SHOWN_CARDS, _SHOWN_CLAIMS = 14, 2


def write_blocks(page: Page, around: Around) -> None:
    """What stops the server whatever the memory."""
    for finding in around.findings:
        page.say("size.blocks", indent="  ", role="bad", detail=page.catalogue.text(finding.detail))
        for way in finding.remedies[:1]:
            page.write(page.catalogue.text(way.note), indent="    ")


def write_processes(page: Page, around: Around) -> None:
    """Who else holds memory of the GPUs."""
    if around.processes:
        page.say("size.processes", indent="  ", listed=around.processes)


def write_starts(page: Page, around: Around) -> None:
    """What a second start gains, and whose defaults were taken where not the server's."""
    if around.second is not None:
        page.say("size.second-start", indent="  ", gib=f"{around.second.gib:.2f}", tokens=around.second.tokens)
    if around.library is not None:
        page.say("size.llm-class", indent="  ", tokens=around.library.tokens, server=around.library.server_tokens)
    if around.host is not None:
        _write_host(page, around.host)


def _write_host(page: Page, host: HostMemory) -> None:
    """Memory of the host that the server takes, and of /dev/shm where the host is not known to have enough."""
    if host.parts:
        listed = tuple(f"{page.catalogue.say(f'size.host.{name}')} {part:.2f} GiB" for name, part in host.parts.items())
        key = "size.host-memory" if host.ram_gib is None else "size.host-memory-of"
        page.say(key, indent="  ", gib=f"{host.total_gib:.2f}", ram=f"{host.ram_gib or 0:.1f}", listed=listed)
    if host.shm_wanted_mib is not None and (host.shm_mib is None or host.shm_mib < host.shm_wanted_mib):
        page.say("size.host-shm", indent="  ", wanted=host.shm_wanted_mib)


def write_load(page: Page, size: SizeResult, around: Around) -> None:
    """Whether the load is served, and how; the steps; then what else would serve it."""
    relief, stated = around.relief, around.stated
    if relief is None:
        return
    page.blank()
    if not stated:
        if relief.served and size.suggested.serve_args != relief.serve_args:
            page.say("size.load.whole", tokens=relief.load.context, arguments=f"`{serve_line(relief.serve_args)}`")
        elif not size.suggested.serve_args:
            page.say("size.load.none", missing=f"{relief.missing_gib:.2f}")
    elif relief.asked_for:
        page.say("size.load.as-asked", role="good", requests=relief.load.requests, tokens=relief.load.context)
    elif relief.served:
        page.say("size.load.with", role="caution", requests=relief.load.requests, tokens=relief.load.context)
    elif not relief.serve_args:
        missing = f"{relief.missing_gib:.2f}"
        page.say("size.load.not-start", role="bad", requests=relief.load.requests, tokens=relief.load.context, missing=missing)
    else:
        held, missing = f"{relief.requests:.1f}", f"{relief.missing_gib:.2f}"
        page.say("size.load.not", role="bad", requests=relief.load.requests, tokens=relief.load.context, held=held, missing=missing)
    interval = relief.requests_interval
    if stated and relief.served and interval and interval[0] < relief.load.requests:
        page.say("size.load.close", role="caution", fewest=f"{interval[0]:.1f}")
    if relief.steps and (stated or relief.served):
        page.heading("size.steps")
        _write_steps(page, relief.steps)
    if around.media:
        page.heading("size.media")
        _write_steps(page, around.media)
        for step in around.media:
            page.write(page.catalogue.text(step.why), indent="    ", first="  - ", role="faint")
    _write_elsewhere(page, around)


def write_steps(page: Page, around: Around) -> None:
    """What each of the suggested arguments frees."""
    if around.steps:
        page.heading("size.steps")
        _write_steps(page, around.steps)


def _write_steps(page: Page, steps: Sequence[ReliefStep]) -> None:
    heads = [page.catalogue.say(f"size.steps.{name}") for name in ("argument", "frees", "kv", "held", "missing")]
    rows = [
        [serve_flag(s.argument, s.value), f"{s.frees_gib:.2f}", f"{s.kv_gib:.2f}", f"{s.requests:.1f}", f"{s.missing_gib:.2f}"]
        for s in steps
    ]
    _write_table(page, [heads, *rows])


def _write_table(page: Page, rows: Sequence[Sequence[str]]) -> None:
    """Names to the left, numbers to the right; a name that would push the numbers off the line stands on a line of its own."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    first = widths[0] if sum(widths) + 2 * len(widths) <= WIDTH else _NARROW
    for place, row in enumerate(rows):
        numbers = "".join("  " + " " * (width - cells(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True))
        alone = cells(row[0]) > first
        if alone:
            page.raw("  " + row[0])
        line = "  " + pad("" if alone else row[0], first) + numbers
        page.raw(page.paint(line, "faint") if place == 0 else line)


def _write_elsewhere(page: Page, around: Around) -> None:
    """Variants and more cards."""
    if around.variants:
        page.heading("size.variants")
    for variant in around.variants:
        if variant.weights_gib is None:
            page.say("size.variant.unknown", indent="  ", model=quote(variant.model))
            continue
        weights, frees = f"{variant.weights_gib:.2f}", f"{variant.frees_gib or 0:.2f}"
        key = "size.variant.served" if variant.served else "size.variant.not"
        page.say(key, indent="  ", model=variant.model, weights=weights, frees=frees)
    relief, model = around.relief, around.model
    for card in around.cards:
        page.blank()
        page.say("size.cards-same", count=card.count, card=card.name, arguments=serve_line(card.relief.serve_args))
    if relief and model and not relief.served and not around.cards:
        page.blank()
        page.say("size.cards-none", most=COUNTS[-1], model=quote(model.name))


def write_claims(page: Page, around: Around) -> None:
    """Advice that is often given and does nothing here."""
    if not around.claims:
        return
    page.heading("size.claims")
    for claim in around.claims[:_SHOWN_CLAIMS]:
        page.write(f"{claim.said} {claim.answer}", indent="    ", first="  - ")


def write_source(page: Page, model: ModelSpec | None) -> None:
    """Where the model's facts were read; what nobody checked is said in so many words."""
    if model is None:
        return
    unsure = model.source.kind == "catalogue" and model.source.basis != "artefact"
    key = "size.source.catalogue-unverified" if unsure else f"size.source.{model.source.kind}"
    page.say(key, role="caution" if unsure else "faint", place=model.source.place)


def cards_text(page: Page, model: ModelSpec, vllm: str, load: Load, cards: Sequence[CardNeeded], verbose: bool) -> str:
    """Cards that serve a load, the fewest and smallest first, each with its serve arguments."""
    page.say("size.cards.heading", role="heading", model=model.name, vllm=vllm, requests=load.requests, tokens=load.context)
    page.blank()
    if not cards:
        page.say("size.cards.none", role="bad", most=COUNTS[-1])
        return page.finish()
    shown = cards if verbose else cards[:_SHOWN_CARDS]
    heads = [page.catalogue.say(f"size.cards.{name}") for name in ("card", "memory", "held")]
    rows = [
        [f"{card.count} x {card.name}{' *' if card.mainland else ''}", f"{card.memory_gib:.1f}", f"{card.relief.requests:.1f}"]
        for card in shown
    ]
    _write_table(page, [heads, *rows])
    page.blank()
    if any(card.mainland for card in shown):
        page.say("size.cards.mainland", role="faint")
    if len(cards) > len(shown):
        page.say("size.cards.more", count=len(cards) - len(shown), role="faint")
    _write_first(page, model, vllm, cards[0])
    write_source(page, model)
    return page.finish()


def _write_first(page: Page, model: ModelSpec, vllm: str, card: CardNeeded) -> None:
    """The serve command on the first card, and how to see it in full."""
    page.heading("size.cards.first", card=f"{card.count} x {card.name}")
    page.shell(f"vllm serve {quote(model.name)} {serve_line(card.relief.serve_args)}")
    page.blank()
    page.say("size.cards.again", model=quote(model.name), card=card.name, count=card.count, vllm=vllm)
