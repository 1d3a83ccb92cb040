"""Records of requests to the server: which fields a release takes, and what it answers to one that is too long."""

from __future__ import annotations

from typing import Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.matrix.release import specifier


class OverLong(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """What becomes of prompt + `max_tokens` above the context: error 400 (`refused`), or less is generated (`lowered`)."""

    releases: str
    answer: Literal["refused", "lowered"]


class RequestsFile(Record, frozen=True, kw_only=True):
    """`matrices/requests.json`: `fields` = request field → the releases that take it; `over_long` in the order in which it is tried."""

    fields: dict[str, str]
    over_long: list[OverLong]

    def takes(self, field: str, version: Version) -> bool:
        """Whether a release takes a field of a request."""
        found = self.fields.get(field)
        return found is not None and specifier(found).contains(version, prereleases=True)

    def answer(self, version: Version) -> str | None:
        """What a release answers to a request that is too long; None where that was not read."""
        return next((one.answer for one in self.over_long if specifier(one.releases).contains(version, prereleases=True)), None)
