"""What every probe answers with: facts by the dotted path they have in the host document, and the small steps all probes share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.port import READ_LIMIT, System

T = TypeVar("T")

# `driver.version` → fact. A path deeper than the document's own fields (`gpus.0.memory_mib`) only explains a gap or a source.
Facts = dict[str, Fact[Any]]


def read_text(system: System, path: str, limit: int = READ_LIMIT) -> Fact[str]:
    """The first `limit` bytes of a file as text, undecodable bytes replaced."""
    fact = system.read(path, limit)
    return Found(fact.value.decode("utf-8", "replace"), path) if isinstance(fact, Found) else fact


def read_line(system: System, path: str) -> Fact[str]:
    """The first line of a file, stripped; an empty one is absent."""
    fact = read_text(system, path, 4096)
    if not isinstance(fact, Found):
        return fact
    line = fact.value.strip("\0 \t\r\n").partition("\n")[0].strip()
    return Found(line, path) if line else Absent(f"{path} is empty")


def first_found(candidates: Iterable[Fact[T]]) -> Fact[T]:
    """The first found fact; else the first that could not be read, for then nobody knows; else absent.

    `candidates` may be a generator: what comes after a found fact is never looked at.
    """
    unreadable: Unreadable | None = None
    absent: Absent | None = None
    for fact in candidates:
        if isinstance(fact, Found):
            return fact
        if isinstance(fact, Unreadable):
            unreadable = unreadable or fact
        else:
            absent = absent or fact
    return unreadable or absent or Absent("nowhere to look")


def all_of(paths: Iterable[str], fact: Absent | Unreadable) -> Facts:
    """The same gap for several paths."""
    return dict.fromkeys(paths, fact)


def why(fact: Fact[Any]) -> str:
    """The reason of a gap, or the source of a value."""
    return fact.source if isinstance(fact, Found) else fact.why
