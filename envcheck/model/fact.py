"""The three-valued fact: found, known to be absent, or not to be read.

"Could not tell" is neither "fine" nor "missing", so a probe must say which of the three it saw.
"""

from typing import Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")


class Unanswered(msgspec.Struct, frozen=True):
    """A source asked in vain: whether it was absent or unreadable, and why."""

    state: Literal["absent", "unreadable"]
    why: str


class Found(msgspec.Struct, Generic[T], frozen=True, tag="found"):
    """A value and where it came from, as a person would name the place: a path, a command, `NVML`, `--python`.

    `tried` = the sources asked before this one, which had no answer; of a gap, where several were asked, all of them, the cited one too.
    """

    value: T
    source: str
    tried: tuple[Unanswered, ...] = ()


class Absent(msgspec.Struct, frozen=True, tag="absent"):
    """Looked for in the right place and not there."""

    why: str
    tried: tuple[Unanswered, ...] = ()


class Unreadable(msgspec.Struct, frozen=True, tag="unreadable"):
    """Could not be looked at: no permission, a time limit, a broken file."""

    why: str
    tried: tuple[Unanswered, ...] = ()


Fact = Found[T] | Absent | Unreadable
