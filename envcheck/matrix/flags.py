"""Records of `vllm serve`'s arguments and of vLLM's environment variables: which release takes which, in which form."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Basis, Record
from envcheck.matrix.release import specifier

_NEAR, _SHOWN = 0.75, 3


class FlagForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """How a range of releases takes an argument: `switch` = without a value, `several` = with one or more.

    `choices` = the only values it takes, missing: any. `default` = the parser's own, which may mean that the release decides later;
    `default_known` False = it could not be read. `off` = `--no-` before the name switches it off. `basis` artefact = read in the parser
    of both ends of the range, neighbour = of the releases around it.
    """

    releases: str
    switch: bool = False
    several: bool = False
    off: bool = False
    choices: list[Any] | None = None
    default: Any = None
    default_known: bool = True
    basis: Basis = "artefact"


class ServeFlag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """One argument by its full name. `releases` = the ranges that register it, `deprecated` those that warn of it, `short` other names."""

    name: str
    dest: str
    short: list[str] = []
    releases: list[str]
    deprecated: list[str] = []
    forms: list[FlagForm] = []


class Replacement(Record, frozen=True, kw_only=True):
    """What does the work of an argument or variable in `releases`, which have it not, or not any more.

    `instead` = the argument, with its value where it has a fixed one; null = nothing does, the thing itself is gone. `why` names a text.
    """

    name: str
    releases: str
    instead: str | None = None
    why: str


class FlagsFile(Record, frozen=True, kw_only=True):
    """`matrices/flags.json`; the sources are of arguments and variables alike.

    `variables` = environment variables with the ranges of releases that read them. `pairs` and `objects` = the ranges that take
    `--limit-mm-per-prompt` as `image=2` and as `{"image": 2}`.
    """

    flags: list[ServeFlag]
    variables: dict[str, list[str]]
    replacements: list[Replacement]
    pairs: list[str] = []
    objects: list[str] = []


class Flags:
    """Arguments and variables by release."""

    def __init__(self, file: FlagsFile) -> None:
        self.file = file

    @cached_property
    def _flags(self) -> dict[str, ServeFlag]:
        found = {flag.name: flag for flag in self.file.flags}
        return found | {short: flag for flag in self.file.flags for short in flag.short}

    @cached_property
    def _by_dest(self) -> dict[str, list[ServeFlag]]:
        found: dict[str, list[ServeFlag]] = {}
        for flag in self.file.flags:
            found.setdefault(flag.dest, []).append(flag)
        return found

    def flag(self, name: str) -> ServeFlag | None:
        """An argument of any release, by `--max-model-len` or `-tp`; None for one that no release has."""
        return self._flags.get(name)

    def of_dest(self, dest: str, version: Version) -> ServeFlag | None:
        """The argument of a release that sets a field such as `max_model_len`; the one named like the field before others."""
        named = self._flags.get("--" + dest.replace("_", "-"))
        found = [flag for flag in ([named] if named else []) + self._by_dest.get(dest, []) if has(flag, version)]
        return found[0] if found else None

    def form(self, flag: ServeFlag, version: Version) -> FlagForm | None:
        """How a release takes an argument; None where that was not read."""
        return next((form for form in flag.forms if version in specifier(form.releases)), None)

    def variable(self, name: str) -> list[str] | None:
        """The ranges of releases that read a variable; None for one that no release does."""
        return self.file.variables.get(name)

    def names(self, version: Version) -> list[str]:
        """The full names of all arguments of a release."""
        return [flag.name for flag in self.file.flags if has(flag, version)]

    def nearest(self, name: str, version: Version) -> list[str]:
        """Arguments of a release whose names are close to a word, the closest first."""
        from difflib import get_close_matches  # noqa: PLC0415  # only for words that are none

        return get_close_matches(name[:80], self.names(version), _SHOWN, cutoff=_NEAR)

    def replacement(self, name: str, version: Version) -> Replacement | None:
        """What a release has in place of an argument or variable."""
        return next((entry for entry in self.file.replacements if entry.name == name and version in specifier(entry.releases)), None)


def has(flag: ServeFlag, version: Version) -> bool:
    """Whether a release registers an argument; pre-releases count as what they became."""
    return within(flag.releases, version)


def within(ranges: list[str], version: Version) -> bool:
    """Whether a release lies in one of several ranges."""
    return any(specifier(releases).contains(version, prereleases=True) for releases in ranges)


def deprecated(flag: ServeFlag, version: Version) -> bool:
    """Whether a release warns of an argument."""
    return within(flag.deprecated, version)
