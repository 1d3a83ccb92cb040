"""The deciding facts that are not known: why they decide, how to find them out, how to state them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from envcheck.model.host import HostReport
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page

_PREFIX = "undecided."


def write_undecided(page: Page, undecided: Sequence[Text], host: HostReport) -> None:
    """Each fact with why it decides, why it could not be read, and what to type; nothing where all are known."""
    if not undecided:
        return
    page.heading("check.undecided")
    for text in undecided:
        why = _why_unknown(host, text.key.removeprefix(_PREFIX))
        page.write(page.catalogue.text(text) + (page.catalogue.say("check.undecided-why", why=why) if why else ""), "    ", first="  - ")
        for step in _steps(text):
            page.write(page.catalogue.text(step), "    ")


def undecided_sentence(text: Text, catalogue: Catalogue) -> str:
    """The same of one fact as one sentence after the other."""
    return " ".join(catalogue.text(each) for each in (text, *_steps(text)))


def _steps(text: Text) -> tuple[Text, ...]:
    """Where to look, and how to state it."""
    return tuple(Text(f"undecided-{step}.{text.key.removeprefix(_PREFIX)}", text.params) for step in ("how", "set"))


def _why_unknown(host: HostReport, path: str) -> str | None:
    """Why the fact at a path, `gpus.compute_capability`, could not be read; None where nobody says."""
    if isinstance(host.provenance, UnsetType):
        return None
    origins = (host.provenance.get(path), host.provenance.get(path.partition(".")[0]))
    return next((origin.why for origin in origins if origin and origin.why), None)
