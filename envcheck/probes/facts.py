"""What every probe answers with: facts by the dotted path they have in the host document, and the small steps all probes share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from envcheck.model.fact import Absent, Fact, Found, Unanswered, Unreadable
from envcheck.system.port import READ_LIMIT, System

T = TypeVar("T")

# `driver.version` → fact. A path deeper than the document's own fields (`gpus.0.memory_mib`) only explains a gap or a source.
Facts = dict[str, Fact[Any]]


def read_text(system: System, path: str, limit: int = READ_LIMIT) -> Fact[str]:
    """The first `limit` bytes of a file as text, undecodable bytes replaced."""
    fact = system.read(path, limit)
    return Found(fact.value.decode("utf-8", "replace"), path) if isinstance(fact, Found) else named(fact, path)


def named(gap: Absent | Unreadable, path: str) -> Absent | Unreadable:
    """The gap with the file it is about."""
    why = f"{path}: {gap.why}"
    return Absent(why) if isinstance(gap, Absent) else Unreadable(why)


def read_line(system: System, path: str) -> Fact[str]:
    """The first line of a file, stripped; an empty one is absent."""
    fact = read_text(system, path, 4096)
    if not isinstance(fact, Found):
        return fact
    line = fact.value.strip("\0 \t\r\n").partition("\n")[0].strip()
    return Found(line, path) if line else Absent(f"{path} is empty")


def first_found(candidates: Iterable[Fact[T]]) -> Fact[T]:
    """The first found fact; else the first that could not be read, for then nobody knows; else absent.

    `candidates` may be a generator: what comes after a found fact is never looked at. Every gap met is kept in the answer's `tried`.
    """
    gaps: list[Absent | Unreadable] = []
    for fact in candidates:
        if isinstance(fact, Found):
            return replace(fact, tried=(*_unanswered(gaps), *fact.tried)) if gaps else fact
        gaps.append(fact)
    cited = next((gap for gap in gaps if isinstance(gap, Unreadable)), gaps[0] if gaps else Absent("nowhere to look"))
    return replace(cited, tried=tuple(_unanswered(gaps))) if len(gaps) > 1 else cited


def _unanswered(gaps: Iterable[Absent | Unreadable]) -> Iterator[Unanswered]:
    for gap in gaps:
        if gap.tried:
            yield from gap.tried
        else:
            yield Unanswered("absent" if isinstance(gap, Absent) else "unreadable", gap.why)


def all_of(paths: Iterable[str], fact: Absent | Unreadable) -> Facts:
    """The same gap for several paths."""
    return dict.fromkeys(paths, fact)


def why(fact: Fact[Any]) -> str:
    """The reason of a gap, or the source of a value."""
    return fact.source if isinstance(fact, Found) else fact.why
