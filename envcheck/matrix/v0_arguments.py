"""Records of arguments for which a release with both engines takes V0 by itself, and refuses to start where V1 is asked for."""

from __future__ import annotations

from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability


class V0Argument(Record, frozen=True, kw_only=True):
    """One argument in snake case. `values` = only these lead to V0, `spared` = these do not; without both, any value but off does.

    `spared_major` = GPUs of this major compute capability serve it on V1.
    """

    argument: str
    releases: str
    values: list[str] = []
    spared: list[str] = []
    spared_major: int | None = None

    def holds(self, version: Version, capability: ComputeCapability | None, value: object) -> bool:
        """Whether a value leads a release to V0 on a GPU; an unknown GPU is not one that is spared."""
        if value in (None, False) or not version_range(self.releases).contains(version):
            return False
        if self.spared_major is not None and capability is not None and capability.major == self.spared_major:
            return False
        text = str(value)
        return text in self.values if self.values else text not in self.spared
