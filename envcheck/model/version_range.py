"""Ranges of versions such as `>=0.8,<0.10`, asked as packaging asks them, without loading its specifiers where comparing is enough.

That module compiles a pattern which is a twenty-fifth of a whole check. PEP 440 gives `<` and `>` a meaning of their own only beside
pre-, post-, development and local releases; between plain releases each sign is what it looks like.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from packaging.version import Version

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_Clause = tuple[Callable[[Any, Any], bool], Version]


class VersionRange:
    """One range; pre-releases count as such (`0.10.0rc1` is not in `<0.10`). Raises ValueError (InvalidSpecifier) for what is none."""

    __slots__ = ("_clauses", "_whole", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._clauses = _clauses(text)
        self._whole: Any = None
        if self._clauses is None:
            self._specifiers()  # what is no range is said now

    def contains(self, version: Version) -> bool:
        """Whether a version lies in the range, by PEP 440; the local label counts as it does there."""
        if self._clauses is None or not self._plain(version):
            return bool(self._specifiers().contains(version, prereleases=True))
        return all(compare(version, bound) for compare, bound in self._clauses)

    __contains__ = contains

    def _plain(self, version: Version) -> bool:
        if version.pre is not None or version.dev is not None or version.local is not None:
            return False
        return version.post is None or ">" not in self.text.replace(">=", "")

    def _specifiers(self) -> Any:
        if self._whole is None:
            from packaging.specifiers import SpecifierSet  # noqa: PLC0415  # as above

            self._whole = SpecifierSet(self.text, prereleases=True)
        return self._whole


@lru_cache(maxsize=4096)
def version_range(text: str) -> VersionRange:
    """A range, parsed once. Raises ValueError."""
    return VersionRange(text)


def _clauses(text: str) -> list[_Clause] | None:
    """The signs and bounds; None where one is anything but a sign before a release or post-release."""
    found: list[_Clause] = []
    for part in text.split(",") if text.strip() else ():
        clause = part.strip()
        sign = clause[:2] if clause[:2] in _COMPARE else clause[:1]
        bound = clause[len(sign) :].strip()
        parts = bound.replace(".post", ".").split(".")
        if sign not in _COMPARE or not bound.isascii() or not all(map(str.isdecimal, parts)):
            return None
        found.append((_COMPARE[sign], Version(bound)))
    return found
