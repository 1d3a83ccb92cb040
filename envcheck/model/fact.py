"""The three-valued fact: found, known to be absent, or not to be read.

"Could not tell" is neither "fine" nor "missing", so a probe must say which of the three it saw.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Found(msgspec.Struct, Generic[T], frozen=True, tag="found"):
    """A value and where it came from, as a person would name the place: a path, a command, `NVML`, `--python`."""

    value: T
    source: str


class Absent(msgspec.Struct, frozen=True, tag="absent"):
    """Looked for in the right place and not there."""

    why: str


class Unreadable(msgspec.Struct, frozen=True, tag="unreadable"):
    """Could not be looked at: no permission, a time limit, a broken file."""

    why: str


Fact = Found[T] | Absent | Unreadable
