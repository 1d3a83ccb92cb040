"""The deciding facts that are not known: why, and how to state them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from envcheck.model.host import HostReport
from envcheck.model.text import Text
from envcheck.render.page import Page


def write_undecided(page: Page, undecided: Sequence[Text], host: HostReport) -> None:
    """Each fact with what to type, and why it could not be read; nothing where all are known."""
    if not undecided:
        return
    page.heading("check.undecided")
    for text in undecided:
        why = _why_unknown(host, text.key.removeprefix("undecided."))
        page.write(page.catalogue.text(text) + (page.catalogue.say("check.undecided-why", why=why) if why else ""), "    ", first="  - ")


def _why_unknown(host: HostReport, path: str) -> str | None:
    """Why the fact at a path, `gpus.compute_capability`, could not be read; None where nobody says."""
    if isinstance(host.provenance, UnsetType):
        return None
    origins = (host.provenance.get(path), host.provenance.get(path.partition(".")[0]))
    return next((origin.why for origin in origins if origin and origin.why), None)
