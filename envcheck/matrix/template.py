"""Templates of log lines: literal text with holes, found in time that grows with the line and not faster.

No regular expression: logs are hostile, and each literal is looked for once from the left, a few times at most.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Literal

import msgspec

Value = str | int | float
_HOLE = 400  # characters between two literals, at most
_MARKS = ",;:.'\"`)]}"  # what ends a sentence and is no part of a word
_TRIES = 6  # places where the first literal stands that are tried
Kind = Literal["int", "num", "word", "text", "any"]


class _Hole(msgspec.Struct, frozen=True):
    """What stands between two literals; `name` "" = it does not matter."""

    name: str
    kind: Kind


class Template(msgspec.Struct, frozen=True):
    """One template: its first literal, then holes, each with the literal behind it ("" = the template ends there)."""

    text: str
    first: str
    rest: tuple[tuple[_Hole, str], ...]

    @property
    def literals(self) -> tuple[str, ...]:
        """The literals, in order."""
        return (self.first, *(literal for _, literal in self.rest if literal))

    @property
    def weight(self) -> int:
        """Characters that are given: of two templates that fit, the one with more says more."""
        return sum(map(len, self.literals))

    def match(self, line: str) -> dict[str, Value] | None:
        """What the holes hold in a line; None where the template does not fit."""
        at = line.find(self.first)
        for _ in range(_TRIES):
            if at < 0:
                return None
            found = self._from(line, at + len(self.first))
            if found is not None:
                return found
            at = line.find(self.first, at + 1)
        return None

    def _from(self, line: str, at: int) -> dict[str, Value] | None:
        values: dict[str, Value] = {}
        for hole, literal in self.rest:
            end = line.find(literal, at, at + _HOLE + len(literal)) if literal else min(len(line), at + _HOLE)
            if end < 0:
                return None
            value = _PARSE[hole.kind](line[at:end], not literal)
            if value is None:
                return None
            if hole.name:
                values[hole.name] = value
            at = end + len(literal)
        return values


def template(text: str) -> Template:
    """A template from its spelling. Raises ValueError for one that is none: no literal first, two holes side by side, an unknown kind."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"`{text}`: {error}") from None
    literals, holes = [""], list[_Hole]()
    for literal, name, kind, conversion in parts:
        literals[-1] += literal
        if name is None:
            continue
        if conversion or (kind or "any") not in _PARSE or (name and not name.isidentifier()):
            raise ValueError(f"`{text}` has a hole that is none")
        holes.append(_Hole(name, (kind or ("any" if not name else "word"))))  # type: ignore[arg-type]  # checked on the line above
        literals.append("")
    if len(literals[0].strip()) < 3 or any(not literal for literal in literals[1:-1]):
        raise ValueError(f"`{text}` does not begin with a literal, or has two holes side by side")
    return Template(text, literals[0], tuple(zip(holes, literals[1:], strict=True)))


def _int(text: str, open_: bool) -> int | None:
    digits = text.strip() if not open_ else text.lstrip()[: len(text.lstrip()) - len(text.lstrip().lstrip("0123456789"))]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else None


def _num(text: str, open_: bool) -> float | None:
    stripped = text.strip()
    if open_:
        stripped = stripped[: len(stripped) - len(stripped.lstrip("0123456789."))].rstrip(".")
    if not stripped.isascii() or len(stripped) > 24 or not stripped.replace(".", "", 1).isdecimal():
        return None
    return float(stripped)


def _word(text: str, open_: bool) -> str | None:
    words = text.split(maxsplit=1)
    if not words or (not open_ and len(words) > 1):
        return None
    return words[0].rstrip(_MARKS)[:200] or None


def _text(text: str, open_: bool) -> str | None:
    return text.strip()[:200] or None


def _any(text: str, open_: bool) -> str:
    return ""


_PARSE: dict[str, Callable[[str, bool], Value | None]] = {"int": _int, "num": _num, "word": _word, "text": _text, "any": _any}
