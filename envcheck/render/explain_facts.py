"""The text of `envcheck probe --explain`: each fact, its value, every source that was asked for it in order, and which answered."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from envcheck.model.host import Attempt, HostReport, Provenance
from envcheck.render.catalogue import Catalogue
from envcheck.render.fact_values import full_value
from envcheck.render.page import Page
from envcheck.render.paint import Paint, Role, plain

_ROLES: dict[str, Role] = {"found": "good", "given": "good", "unreadable": "caution", "absent": "faint"}


def explain_facts(host: HostReport, facts: Sequence[tuple[str, object]], catalogue: Catalogue, paint: Paint = plain) -> str:
    """One paragraph a fact; `facts` are dotted paths with their values."""
    page = Page(catalogue, paint)
    entries = {} if isinstance(host.provenance, UnsetType) else host.provenance
    for path, value in facts:
        own = entries.get(path)
        entry = own or entries.get(path.partition(".")[0])
        page.blank()
        page.write(f"{path}: {full_value(value, catalogue)}", indent="    ", first="", role="heading")
        if entry is None:
            page.say("explain-facts.no-source", indent="  ")
            continue
        for state, source in _asked(entry):
            page.write(catalogue.say(f"explain-facts.{state}", source=source), indent="      ", first="  ", role=_ROLES[state])
        if entry.state == "given" and entry.why:
            page.write(entry.why, indent="      ", first="  ", role="faint")
    return page.finish()


def _asked(entry: Provenance) -> list[tuple[str, str]]:
    """State and source of each; a report written without `--explain` knows the last only."""
    tried: list[Attempt] = entry.tried
    told = [(one.state, one.source) for one in tried]
    if entry.state == "given":
        return [("given", entry.source or "?"), *((f"{state}", source) for state, source in told)]
    return [*told] or [(entry.state, entry.source or entry.why or "?")]
