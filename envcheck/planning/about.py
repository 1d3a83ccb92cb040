"""What is known of one argument of `vllm serve` or one variable: the releases that have it, its forms, what does its work elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.flags import FlagForm, ServeFlag, has, within
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release, specifier
from envcheck.model.text import Text

_LONGEST, _SHOWN, _NEAR = 80, 3, 0.75
_LIMITS = "--limit-mm-per-prompt"

Kind = Literal["argument", "variable", "never"]


class Span(msgspec.Struct, frozen=True):
    """A run of releases, ends included."""

    first: str
    last: str


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How a run of releases takes an argument. `default` None = none, or decided later; `default_known` False = not read."""

    releases: Span
    switch: bool
    choices: tuple[str, ...]
    default: str | None
    default_known: bool


class Successor(msgspec.Struct, frozen=True, kw_only=True):
    """What does its work in a run of releases that have it not; `instead` None = nothing does."""

    releases: Span
    instead: str | None
    why: Text


class Syntax(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write a value, with the releases that take it."""

    example: str
    releases: tuple[Span, ...]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """One argument or variable. `never` = no release has it, yet it is known of. `value_in` = the releases that take `value`.

    `switches_off` = the argument whose other half it is, `--no-x` or `--disable-x`. `value_open` = releases whose parser lists no values,
    where others do. `syntaxes` = how its value is written, where that changed.
    """

    name: str
    kind: Kind
    releases: tuple[Span, ...]
    deprecated: tuple[Span, ...] = ()
    forms: tuple[Form, ...] = ()
    successors: tuple[Successor, ...] = ()
    value: str | None = None
    value_in: tuple[Span, ...] | None = None
    claims: tuple[str, ...] = ()
    switches_off: str | None = None
    value_open: tuple[Span, ...] = ()
    syntaxes: tuple[Syntax, ...] = ()


def about(matrix: Matrix, word: str, value: str | None = None) -> About | None:
    """The argument or variable that a word names; None for one of which nothing is known. Sources: `flags.json`, `claims.json`."""
    name = word[:_LONGEST]
    flags, claims = matrix.flags, tuple(claim.id for claim in matrix.claims if claim.about(name))
    successors = tuple(_successors(matrix, name))
    flag, variable = flags.flag(name), flags.variable(name)
    if flag is not None:
        if flag.name != name:
            return about(matrix, flag.name, value)
        return About(
            name=name,
            kind="argument",
            releases=spans(matrix, lambda version: has(flag, version)),
            deprecated=spans(matrix, lambda version: within(flag.deprecated, version)),
            forms=tuple(_forms(matrix, flag.forms)),
            successors=successors,
            value=value[:_LONGEST] if value else None,
            value_in=_value_in(matrix, flag.forms, value) if value else None,
            claims=claims,
            value_open=_value_open(matrix, flag, value) if value else (),
            syntaxes=tuple(_syntaxes(matrix, flag.name)),
        )
    switched = flags.negated(name)
    if switched is not None:
        taking = spans(matrix, lambda version: flags.negates(name, switched, version))
        others = tuple(_other_words(matrix, name, switched))
        return About(name=name, kind="argument", releases=taking, successors=others, claims=claims, switches_off=switched.name)
    if variable is not None:
        return About(
            name=name, kind="variable", releases=spans(matrix, lambda v: within(variable, v)), successors=successors, claims=claims
        )
    if successors or (claims and name.startswith(("-", "VLLM_"))):
        return About(name=name, kind="never", releases=(), successors=successors, claims=claims)
    return None


def spans(matrix: Matrix, holds: Callable[[Version], bool]) -> tuple[Span, ...]:
    """The runs of releases for which something holds, oldest first."""
    found: list[list[Release]] = [[]]
    for release in reversed(tuple(matrix.releases)):
        if holds(release.version):
            found[-1].append(release)
        elif found[-1]:
            found.append([])
    return tuple(Span(run[0].raw, run[-1].raw) for run in found if run)


def _in(matrix: Matrix, releases: str) -> Span | None:
    wanted = specifier(releases)
    found = spans(matrix, lambda version: wanted.contains(version, prereleases=True))
    return Span(found[0].first, found[-1].last) if found else None


def _forms(matrix: Matrix, forms: list[FlagForm]) -> Iterator[Form]:
    """Forms that differ, neighbours of one form made one."""
    last: Form | None = None
    for form in forms:
        run = _in(matrix, form.releases)
        if run is None:
            continue
        now = Form(
            releases=run,
            switch=form.switch,
            choices=tuple(sorted(str(choice) for choice in form.choices or () if choice is not None)),
            default=None if form.default is None else str(form.default)[:_LONGEST],
            default_known=form.default_known,
        )
        if last is not None and msgspec.structs.replace(last, releases=run) == now:
            last = msgspec.structs.replace(last, releases=Span(last.releases.first, run.last))
            continue
        if last is not None:
            yield last
        last = now
    if last is not None:
        yield last


def _successors(matrix: Matrix, name: str) -> Iterator[Successor]:
    for entry in matrix.flags.file.replacements:
        run = _in(matrix, entry.releases) if entry.name == name else None
        if run is not None:
            why = Text(f"remedy.flag-{entry.why}", {"flag": name, "instead": entry.instead or ""})
            yield Successor(releases=run, instead=entry.instead, why=why)


def _value_in(matrix: Matrix, forms: list[FlagForm], value: str) -> tuple[Span, ...] | None:
    """The releases that take a value, of those with a list of choices; None where none has a list."""
    if not any(form.choices for form in forms):
        return None
    taking = [form.releases for form in forms if form.choices and value in {str(choice) for choice in form.choices}]
    return spans(matrix, lambda version: within(taking, version))


def _value_open(matrix: Matrix, flag: ServeFlag, value: str) -> tuple[Span, ...]:
    """The releases that have the argument without a list of values, where another one has a list; a listed value needs no such word."""
    if _value_in(matrix, flag.forms, value) is None:
        return ()
    listing = [form.releases for form in flag.forms if form.choices or form.switch]
    return spans(matrix, lambda version: has(flag, version) and not within(listing, version))


def _syntaxes(matrix: Matrix, name: str) -> Iterator[Syntax]:
    """Pairs and objects, for the one argument that changed from one to the other."""
    if name != _LIMITS:
        return
    file, flag = matrix.flags.file, matrix.flags.flag(name)

    def taking(ranges: list[str]) -> tuple[Span, ...]:
        return spans(matrix, lambda version: within(ranges, version) and (flag is None or has(flag, version)))

    yield Syntax(example="image=2,video=0", releases=taking(file.pairs))
    yield Syntax(example='{"image": 2, "video": 0}', releases=taking(file.objects))


def _other_words(matrix: Matrix, name: str, flag: ServeFlag) -> Iterator[Successor]:
    """What switches an argument off in the releases that do not take this word."""
    lacking: dict[str, set[Version]] = {}
    for release in matrix.releases:
        other = matrix.flags.off_name(flag, release.version)
        if other and not matrix.flags.negates(name, flag, release.version):
            lacking.setdefault(other, set()).add(release.version)
    for other, versions in lacking.items():
        for run in spans(matrix, versions.__contains__):
            yield Successor(releases=run, instead=other, why=Text("remedy.flag-renamed", {"flag": name, "instead": other}))


def nearest(matrix: Matrix, word: str) -> list[str]:
    """Arguments and variables of any release whose names are close to a word."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for words that are none

    names = [flag.name for flag in matrix.flags.file.flags] + list(matrix.flags.file.variables)
    return get_close_matches(word[:_LONGEST], names, _SHOWN, cutoff=_NEAR)
