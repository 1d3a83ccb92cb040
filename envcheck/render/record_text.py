"""What `envcheck probe --record` says of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page

_MOST_NAMED = 8


def record_text(folder: str, files: int, left_out: Sequence[str], replaced: Mapping[str, int], catalogue: Catalogue) -> str:
    """Where it is, what was replaced by kind, what found no room, and that a person must look it through."""
    page = Page(catalogue)
    page.say("record.written", folder=folder, files=files)
    page.write(catalogue.say("record.replaced", **replaced))
    if left_out:
        more = (*left_out[:_MOST_NAMED], "…") if len(left_out) > _MOST_NAMED else tuple(left_out)
        page.say("record.left-out", paths=more)
    page.say("record.look-through")
    return page.finish()
