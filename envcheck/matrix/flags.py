"""Records of `vllm serve`'s arguments and of vLLM's environment variables: which release takes which, in which form."""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Basis, Record
from envcheck.matrix.release import specifier

_NEAR, _SHOWN = 0.75, 3
_LONGEST_NUMBER = 40
_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}  # as vLLM's own parser has them


class FlagForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """How a range of releases takes an argument: `switch` = without a value, `optional` = with one or none, `several` = with one or more.

    `choices` = the only values it takes, missing: any. `default` = the parser's own, which may mean that the release decides later;
    `default_known` False = it could not be read. `off` = `--no-` before the name switches it off; `disable` = `--disable-` in the place of
    its `--enable-` does too. `basis` artefact = read in the parser of both ends of the range, neighbour = of the releases around it.
    """

    releases: str
    switch: bool = False
    optional: bool = False
    several: bool = False
    off: bool = False
    disable: bool = False
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
    `field` = the field of the JSON that `instead` takes, which holds what was the value.
    """

    name: str
    releases: str
    instead: str | None = None
    field: str | None = None
    why: str


class NumberRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """What a numeric argument takes: `whole` = no fraction, `least` and `most` inclusive, `above` exclusive.

    `words` = values besides numbers, with the ranges of releases that take them.
    """

    name: str
    whole: bool = True
    least: float | None = None
    above: float | None = None
    most: float | None = None
    words: dict[str, list[str]] = {}


class FlagsFile(Record, frozen=True, kw_only=True):
    """`matrices/flags.json`; the sources are of arguments and variables alike.

    `variables` = environment variables with the ranges of releases that read them. `pairs` and `objects` = the ranges that take
    `--limit-mm-per-prompt` as `image=2` and as `{"image": 2}`. `short_numbers` = arguments that take `8k`, with the ranges known to; any
    release takes the digits. `numbers` = what numeric arguments take, where no choices say so.
    """

    flags: list[ServeFlag]
    variables: dict[str, list[str]]
    replacements: list[Replacement]
    pairs: list[str] = []
    objects: list[str] = []
    short_numbers: dict[str, list[str]] = {}
    numbers: list[NumberRange] = []


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

    def negated(self, name: str) -> ServeFlag | None:
        """The argument that `--no-x` or `--disable-x` switches off in some release; None for any other name."""
        if name in self._flags:
            return None
        for before, instead in (("--no-", "--"), ("--disable-", "--enable-")):
            flag = self._flags.get(instead + name[len(before) :]) if name.startswith(before) else None
            if flag is not None and any(_switches_off(form, before) for form in flag.forms):
                return flag
        return None

    def negates(self, name: str, flag: ServeFlag, version: Version) -> bool:
        """Whether a release takes the spelling that switches an argument off, `name` = `--no-x` or `--disable-x`."""
        form = self.form(flag, version)
        return has(flag, version) and form is not None and _switches_off(form, "--no-" if name.startswith("--no-") else "--disable-")

    def off_name(self, flag: ServeFlag, version: Version) -> str | None:
        """How a release switches an argument off, as its parser lists it; None where it has no such word."""
        form = self.form(flag, version)
        if form is None or not (form.off or form.disable) or not has(flag, version):
            return None
        return "--no-" + flag.name[2:] if form.off else "--disable-" + flag.name.removeprefix("--enable-")

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

    def number_fault(self, name: str, version: Version, value: object) -> tuple[str, str] | None:
        """Why a numeric argument does not take a value: `whole`, `number`, `least`, `above` or `most`, and the bound; None = it does."""
        known = next((entry for entry in self.file.numbers if entry.name == name), None)
        text = str(value).strip()
        if known is None or any(text == word and within(ranges, version) for word, ranges in known.words.items()):
            return None
        number = number_of(text, short=name in self.file.short_numbers)
        if number is None or (known.whole and number != int(number)):
            return ("whole" if known.whole else "number"), ""
        if known.above is not None and number <= known.above:
            return "above", f"{known.above:g}"
        if known.least is not None and number < known.least:
            return "least", f"{known.least:g}"
        return ("most", f"{known.most:g}") if known.most is not None and number > known.most else None

    def replacement(self, name: str, version: Version) -> Replacement | None:
        """What a release has in place of an argument or variable."""
        return next((entry for entry in self.file.replacements if entry.name == name and version in specifier(entry.releases)), None)


def _switches_off(form: FlagForm, before: str) -> bool:
    return form.off if before == "--no-" else form.disable


def has(flag: ServeFlag, version: Version) -> bool:
    """Whether a release registers an argument; pre-releases count as what they became."""
    return within(flag.releases, version)


def within(ranges: list[str], version: Version) -> bool:
    """Whether a release lies in one of several ranges."""
    return any(specifier(releases).contains(version, prereleases=True) for releases in ranges)


def deprecated(flag: ServeFlag, version: Version) -> bool:
    """Whether a release warns of an argument."""
    return within(flag.deprecated, version)


def number_of(text: str, *, short: bool = False) -> float | None:
    """A number as vLLM's parsers read it, finite; `short` = `8k` (thousands) and `8K` (of 1024) count too. None for what is none."""
    scale = _SCALES.get(text[-1:], 1) if short else 1
    digits = text[:-1] if scale > 1 else text
    if not digits or len(digits) > _LONGEST_NUMBER or not digits.isascii():
        return None
    try:
        number = float(digits)
    except ValueError:
        return None
    return number * scale if isfinite(number) else None
