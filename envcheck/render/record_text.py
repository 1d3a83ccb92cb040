"""What `envcheck probe --record` says of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from envcheck.render.catalogue import Catalogue
from envcheck.render.commands import line
from envcheck.render.page import Page

_MOST_NAMED = 8


class RecordSummary(msgspec.Struct, frozen=True):
    """A recording: its folder, its files, paths that found no room, replacements by kind, the interpreter looked at by `--python`."""

    folder: str
    files: int
    left_out: Sequence[str]
    replaced: Mapping[str, int]
    python: str | None = None


def record_text(made: RecordSummary, catalogue: Catalogue) -> str:
    """Where it is, what was replaced by kind, what found no room, and that a person must look it through."""
    page = Page(catalogue)
    command = ["envcheck", "check", "--host", made.folder, *(["--python", made.python] if made.python else [])]
    page.say("record.written", folder=made.folder, files=made.files, command=line(command))
    page.write(catalogue.say("record.replaced", **made.replaced))
    if made.left_out:
        more = (*made.left_out[:_MOST_NAMED], "…") if len(made.left_out) > _MOST_NAMED else tuple(made.left_out)
        page.say("record.left-out", paths=more)
    page.say("record.look-through")
    return page.finish()
