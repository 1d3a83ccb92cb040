"""Security advisories: which versions of vLLM, of its companions and of the driver have known holes.

Ranges are compared by the order of versions alone. A specifier would leave the pre-releases of a fixed version out (`<0.22.0` does not
hold `0.22.0rc1`), though the fix may have come after them.
"""

from functools import cached_property
from typing import Literal

import msgspec
from packaging.version import InvalidVersion, Version

from envcheck.matrix.records import Record
from envcheck.model.versions import DriverVersion, driver_version

Grade = Literal["critical", "high", "medium", "low"]
# How an entry is known: its reviewed text; the vendor's bulletin; several places that agree; its range alone; a digest of advisories or
# another second hand; a fix that is disputed; nobody has reviewed it; the project's own documentation says so.
Confidence = Literal["reviewed", "bulletin", "combined", "range", "digest", "disputed", "unreviewed", "documented"]
GRADES: tuple[Grade, ...] = ("critical", "high", "medium", "low")
GRAVE: tuple[Grade, ...] = ("critical", "high")
_CACHED = 4096  # versions that hosts of a batch may name


class Advisory(Record, frozen=True, kw_only=True):
    """One advisory of one package.

    `affected` = a PEP 440 range of published versions; without a lower bound all earlier ones count, known or not (`lower_bound`).
    `affected_conservative` = what to assume where the fix is disputed or later releases were not looked at. All `conditions` must hold,
    and with `models` (fragments of a model type or architecture, lower case letters and digits only) one of those must be served.
    `workarounds` = ids of ways to live with it. `cvss` 0-10 where known. `published` ISO date.
    """

    id: str
    aliases: list[str] = []
    package: str
    title: str
    affected: str
    affected_conservative: str | None = None
    lower_bound: Literal["known", "unknown"] = "known"
    fixed: str | None = None
    severity: Grade
    cvss: float | None = None
    conditions: list[str] = []
    models: list[str] = []
    workarounds: list[str] = []
    confidence: Confidence
    published: str | None = None

    @property
    def name(self) -> str:
        """The CVE number where there is one, as that is what people search for."""
        return next((name for name in (self.id, *self.aliases) if name.startswith("CVE-")), self.id)


class Cutoff(Record, frozen=True, kw_only=True):
    """The newest text that was read about a subject; what was published later is not known here."""

    about: Literal["packages", "nvidia"]
    date: str


class KeyGuard(Record, frozen=True, kw_only=True):
    """Which paths of the server a range of releases lets through only with the API key, and which it leaves open."""

    releases: str
    guarded: list[str]
    open: list[str]


class AdvisoriesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/advisories.json`."""

    cutoffs: list[Cutoff]
    key_guards: list[KeyGuard]
    advisories: list[Advisory]


class Bulletin(Record, frozen=True, kw_only=True):
    """One bulletin on the Linux driver: the fixed version of each branch it lists; `geforce_only` = fixed there for GeForce boards only."""

    id: str
    title: str
    date: str
    fixed: dict[str, str]
    geforce_only: list[str] = []
    max_cvss: float
    cves: list[str]


class Span(msgspec.Struct, frozen=True):
    """A range of versions; None = unbounded."""

    lower: Version | None = None
    upper: Version | None = None
    lower_open: bool = False
    upper_open: bool = False

    def contains(self, version: Version) -> bool:
        """Whether a version without a local label lies inside, pre-releases ordered like all others."""
        if self.lower is not None and (version < self.lower or (self.lower_open and version == self.lower)):
            return False
        return self.upper is None or version < self.upper or (version == self.upper and not self.upper_open)


def span(text: str) -> Span:
    """`>=0.6.5,<0.8.5` as a range; `>=0` is every version. Raises InvalidVersion for any other form."""
    lower = upper = None
    lower_open = upper_open = False
    for part in text.split(","):
        sign, bare = part[:1], part[1:].lstrip("=")
        version, is_open = Version(bare), not part.startswith(sign + "=")
        if sign == ">":
            lower, lower_open = (None if bare == "0" else version), is_open
        elif sign == "<":
            upper, upper_open = version, is_open
        else:
            raise InvalidVersion(text)
    return Span(lower, upper, lower_open, upper_open)


class Open(msgspec.Struct, frozen=True):
    """An advisory that a version is open to; `disputed` = only by the conservative range."""

    advisory: Advisory
    disputed: bool

    @property
    def grave(self) -> bool:
        """Whether it is critical or high."""
        return self.advisory.severity in GRAVE

    @property
    def gravity(self) -> tuple[int, float, str]:
        """Ascending = the gravest first."""
        return GRADES.index(self.advisory.severity), -(self.advisory.cvss or 0.0), self.advisory.id

    @property
    def fixed(self) -> Version | None:
        """The first fixed version; None where none is known, or none that all agree on."""
        return Version(self.advisory.fixed) if self.advisory.fixed and not self.disputed else None


class _Ranged(msgspec.Struct, frozen=True):
    advisory: Advisory
    published: Span
    conservative: Span | None


class Advisories:
    """Look-ups by package and version; ranges parsed when a package is first asked for, answers remembered."""

    def __init__(self, file: AdvisoriesFile) -> None:
        self.file = file
        self._ranges: dict[str, list[_Ranged]] = {}
        self._answers: dict[tuple[str, Version], tuple[Open, ...]] = {}

    @cached_property
    def _by_package(self) -> dict[str, list[Advisory]]:
        found: dict[str, list[Advisory]] = {}
        for advisory in self.file.advisories:
            found.setdefault(advisory.package, []).append(advisory)
        return found

    @cached_property
    def packages(self) -> frozenset[str]:
        """Names of packages that have any entry, as the index normalises them."""
        return frozenset(self._by_package)

    @cached_property
    def cutoffs(self) -> dict[str, str]:
        """Subject → date of the newest text read."""
        return {cutoff.about: cutoff.date for cutoff in self.file.cutoffs}

    def open_in(self, package: str, version: Version) -> tuple[Open, ...]:
        """The entries that a version is open to, the gravest first; a local label (`+cu129`) does not matter."""
        key = (package, version)
        if key not in self._answers:
            if len(self._answers) >= _CACHED:
                self._answers.clear()
            self._answers[key] = self._find(package, version if version.local is None else Version(version.public))
        return self._answers[key]

    def _find(self, package: str, version: Version) -> tuple[Open, ...]:
        found = []
        for ranged in self._of(package):
            published = ranged.published.contains(version)
            if published or (ranged.conservative is not None and ranged.conservative.contains(version)):
                found.append(Open(ranged.advisory, not published))
        return tuple(sorted(found, key=lambda entry: entry.gravity))

    def _of(self, package: str) -> list[_Ranged]:
        if package not in self._ranges and package in self._by_package:
            self._ranges[package] = [
                _Ranged(one, span(one.affected), span(one.affected_conservative) if one.affected_conservative else None)
                for one in self._by_package[package]
            ]
        return self._ranges.get(package, [])


class BranchFloor(msgspec.Struct, frozen=True):
    """The newest fix of a driver branch; `newest` = the newest bulletin of all lists the branch."""

    fixed: DriverVersion
    bulletin: Bulletin
    newest: bool


class DriverSecurity:
    """Bulletins by driver branch."""

    def __init__(self, bulletins: list[Bulletin]) -> None:
        self.bulletins = sorted(bulletins, key=lambda bulletin: bulletin.date)

    @cached_property
    def _floors(self) -> dict[int, BranchFloor]:
        found = {}
        for bulletin in self.bulletins:  # later ones replace earlier ones
            for branch, text in bulletin.fixed.items():
                fixed = driver_version(text)
                if fixed is not None:
                    found[int(branch)] = BranchFloor(fixed, bulletin, bulletin is self.bulletins[-1])
        return found

    def floor(self, branch: int) -> BranchFloor | None:
        """The newest fix listed for a branch; None where no bulletin lists it."""
        return self._floors.get(branch)

    @property
    def maintained(self) -> tuple[int, ...]:
        """Branches that the newest bulletin lists, ascending."""
        return tuple(sorted(branch for branch, floor in self._floors.items() if floor.newest))
