"""Records of what is to be known of serving so on a release, though nothing about it is wrong."""

from __future__ import annotations

from envcheck.matrix.records import Record
from envcheck.matrix.regressions import Condition


class ServeSpot(Record, frozen=True, kw_only=True):
    """One spot. Its sentence is the catalogue's `serve.note.spot-<id>`; `condition` as regressions have it."""

    id: str
    releases: str
    condition: Condition
