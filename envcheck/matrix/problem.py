"""A fault of the matrix, and the decoded files that the cross-reference checks look at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from envcheck.matrix.records import VllmRelease
from envcheck.matrix.signatures import Signature


class Problem(msgspec.Struct, frozen=True):
    """What is wrong, in which file, and where inside it (`$[3].builds[0]`, or "" for the whole file)."""

    file: str
    path: str
    what: str


class Loaded:
    """Every file of a folder, decoded."""

    def __init__(self, folder: Path, values: dict[str, Any]) -> None:
        self._folder = folder
        self._values = values

    def value(self, name: str) -> Any:
        """The decoded value of a file that exists."""
        return self._values[name]

    def problem(self, name: str, path: str, what: str) -> Problem:
        """A fault of a file, named as `decode` names files."""
        return Problem(f"{self._folder.name}/{name}", path, what)

    def releases(self) -> list[tuple[str, int, VllmRelease]]:
        """Every vLLM release with its file and its place in it."""
        names = sorted(name for name in self._values if name.startswith("vllm/"))
        return [(name, place, record) for name in names for place, record in enumerate(self._values[name])]

    def signatures(self) -> list[tuple[str, int, Signature]]:
        """Every signature with its file and its place in it."""
        names = sorted(name for name in self._values if name.startswith("signatures/"))
        return [(name, place, record) for name in names for place, record in enumerate(self._values[name])]


def is_date(text: str) -> bool:
    """Whether text is an ISO date of this century."""
    return re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", text) is not None


def is_specifier(text: str) -> bool:
    """Whether text is a PEP 440 specifier set."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def is_version(text: str) -> bool:
    """Whether text is a PEP 440 version."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
