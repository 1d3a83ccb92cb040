"""Records of arguments that a release's parser takes and its engine then refuses, so that the server does not start."""

from __future__ import annotations

from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.matrix.v0_arguments import word_of
from envcheck.model.version_range import version_range


class ServeRefusal(Record, frozen=True, kw_only=True):
    """One argument in snake case. `values` = only these are refused, `spared` = these are not; without both, any value but off is.

    `fixed` = the first release that serves it, null = none is known to.
    """

    argument: str
    releases: str
    values: list[str] = []
    spared: list[str] = []
    fixed: str | None = None

    def holds(self, version: Version, value: object) -> bool:
        """Whether a release refuses a value."""
        if value in (None, False) or not version_range(self.releases).contains(version):
            return False
        word = word_of(value)
        return word in self.values if self.values else word not in self.spared
