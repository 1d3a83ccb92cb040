"""Advisories open in one version of a package, counted once; what the bulletins say of a driver."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from packaging.version import Version

from envcheck.matrix.advisories import BranchFloor, Open
from envcheck.matrix.load import Matrix
from envcheck.rules.situation import Situation, text

if TYPE_CHECKING:
    from envcheck.rules.planned import Planned

# Not a matter of serving on Linux: building, reading batches, other systems, tools beside the server.
NEVER = frozenset(("windows", "image_build", "build", "run_batch", "ray_data", "kubernetes", "monitoring", "toolkit_tools"))
_CACHED = 4096  # versions of a batch that are remembered


class Tally:
    """The entries open in one version, the gravest first; those with a disputed fix are kept but not counted."""

    def __init__(self, entries: tuple[Open, ...]) -> None:
        self.entries = entries

    @cached_property
    def published(self) -> tuple[Open, ...]:
        """Those whose published range holds the version."""
        return tuple(entry for entry in self.entries if not entry.disputed)

    @cached_property
    def open(self) -> int:
        """How many by the published ranges."""
        return len(self.published)

    @cached_property
    def serving(self) -> tuple[Open, ...]:
        """Those of them that can matter to a server."""
        return tuple(entry for entry in self.published if NEVER.isdisjoint(entry.advisory.conditions))

    @cached_property
    def grave(self) -> int:
        """How many of those are critical or high."""
        return sum(entry.grave for entry in self.serving)

    @property
    def gravest(self) -> Open | None:
        """The gravest of those, else of all."""
        return next(iter(self.serving or self.published), None)

    @cached_property
    def fixed(self) -> Version | None:
        """The version that closes all of them that any version closes."""
        return max((entry.fixed for entry in self.published if entry.fixed), default=None)


class Product(msgspec.Struct, frozen=True):
    """A package as found, and what is open in it."""

    name: str
    raw: str
    version: Version
    tally: Tally


class Fault(msgspec.Struct, frozen=True):
    """A driver below the newest fix of its branch, or (`ended`) of a branch that the newest bulletin lists no more."""

    driver: str
    branch: int
    floor: BranchFloor
    ended: bool

    def evidence(self) -> dict[str, Any]:
        """As it stands in the finding."""
        bulletin = self.floor.bulletin
        return {
            "version": self.driver,
            "branch": self.branch,
            "fixed": self.floor.fixed.raw,
            "bulletin": bulletin.id,
            "date": bulletin.date,
            "branch_ended": self.ended,
        }


@lru_cache(maxsize=_CACHED)
def tally_of(matrix: Matrix, package: str, version: Version) -> Tally:
    """What is open in a version of a package. What the project documents of itself is no advisory of a version."""
    found = matrix.advisories.open_in(package, version)
    return Tally(tuple(one for one in found if one.advisory.confidence != "documented"))


def state_of(entry: Open, planned: Planned | None) -> bool | None:
    """Whether the precondition of an entry is met; None = not known."""
    advisory = entry.advisory
    if not NEVER.isdisjoint(advisory.conditions):
        return False
    if planned is None:
        return None
    states = [planned.holds(condition) for condition in advisory.conditions]
    if advisory.models:
        states.append(planned.serves(advisory.models))
    if False in states:
        return False
    return True if states and all(states) else None


def driver_fault(situation: Situation, matrix: Matrix) -> Fault | None:
    """What the bulletins on the Linux driver say against this one; None also where only its branch is known, or it is Windows'."""
    driver = situation.driver
    if driver is None or situation.wsl or text(situation.host.os, "name").lower().startswith("windows"):
        return None
    floor = matrix.driver_security.floor(driver.branch)
    if floor is None:
        return None
    below = len(driver.parsed) > 1 and driver.parsed < floor.fixed.parsed
    return Fault(driver.raw, driver.branch, floor, not floor.newest) if below or not floor.newest else None


def label(entry: Open) -> str:
    """`CVE-2026-48746 (critical)`."""
    return f"{entry.advisory.name} ({entry.advisory.severity})"
