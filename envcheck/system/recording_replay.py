"""Where a recording would answer otherwise than the host did: found by asking it everything again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.port import System
from envcheck.system.recording import RecordingSystem
from envcheck.system.redaction import Redactor
from envcheck.system.rooted_files import Exact, RecordedFact

T = TypeVar("T")
_NO_ROOM = Unreadable("left out of the recording, which was full")
_GONE = Absent("no such file")
_LONGEST_LIST = 4096


def writable(text: str) -> str:
    """The text with a question mark in place of every byte that was none."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


class Redacted:
    """A visit's answers as they may leave the host."""

    def __init__(self, visit: RecordingSystem, redactor: Redactor) -> None:
        self.visit = visit
        self.redactor = redactor
        self._contents: dict[str, bytes] = {}

    def text(self, text: str) -> str:
        """A text for a JSON file, which cannot hold bytes that are no text."""
        return writable(self.redactor.text(text))

    def names(self) -> Fact[tuple[str, str, str]] | None:
        """(system, kernel release, machine); whoever built a kernel may have put a name into its release."""
        known = self.visit.names
        if not isinstance(known, Found):
            return known
        first, second, third = (writable(self.redactor.text(part, version=True)) for part in known.value)
        return Found((first, second, third), known.source)

    def fact(self, fact: Fact[T], value: Callable[[T], T]) -> Fact[T]:
        """An answer with its value, source or reason redacted."""
        if isinstance(fact, Found):
            return Found(value(fact.value), self.text(fact.source))
        why = self.text(fact.why)
        return Absent(why) if isinstance(fact, Absent) else Unreadable(why)

    def content(self, path: str, data: bytes) -> bytes:
        """What a file holds, redacted once."""
        if path not in self._contents:
            self._contents[path] = self.redactor.content(path, data)
        return self._contents[path]

    def files(self) -> dict[str, tuple[int, Fact[bytes]]]:
        """What was read, by path, with the bytes asked for; redaction may lengthen a text, but no more than those are read again."""
        return {self.text(path): (limit, self._file(path, limit, fact)) for path, (limit, fact) in self.visit.files.items()}

    def _file(self, path: str, limit: int, fact: Fact[bytes]) -> Fact[bytes]:
        return self.fact(fact, lambda data: self.content(path, data)[:limit])

    def places(self) -> dict[str, Fact[str]]:
        """Where paths lead."""
        return {self.text(path): self.fact(fact, self.text) for path, fact in self.visit.places.items()}

    def by_path(self, answers: Mapping[str, Fact[T]]) -> dict[str, Fact[T]]:
        """Answers whose values tell nothing of anybody."""
        return {self.text(path): self.fact(fact, lambda value: value) for path, fact in answers.items()}

    def patterns(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Matches by pattern, with the number asked for."""
        return {self.text(pattern): (limit, tuple(map(self.text, paths))) for pattern, (limit, paths) in self.visit.patterns.items()}


def differences(answers: Redacted, replay: System, left_out: frozenset[str]) -> tuple[Exact, frozenset[str]]:
    """(answers to be kept word for word, paths known to be absent) of everything that `replay` answers otherwise.

    What found no room is unreadable with that reason, never absent.
    """
    reads = {path: fact for path, (limit, fact) in answers.files().items() if replay.read(path, limit) != fact}
    for path in left_out & reads.keys():
        reads[path] = _NO_ROOM
    places = _other(answers.places(), replay.resolve)
    gone = Absent("no such file")
    absent = frozenset(
        path for path in {*reads, *places} if path.startswith("/") and {reads.get(path, gone), places.get(path, gone)} == {gone}
    )
    patterns = answers.patterns()
    exact = Exact(
        read={path: _recorded(fact) for path, fact in reads.items() if path not in absent},
        exists={path: there for path, there in _existing(answers).items() if replay.exists(path) is not there},
        resolve={path: _recorded(fact) for path, fact in places.items() if path not in absent},
        glob={pattern: list(paths[:_LONGEST_LIST]) for pattern, (limit, paths) in patterns.items() if replay.glob(pattern, limit) != paths},
        disk=_exactly(answers.by_path(answers.visit.spaces), replay.disk),
        writable=_exactly(answers.by_path(answers.visit.leaves), replay.writable),
        uname=_single(answers.names(), replay.uname),
        libc=_single(answers.visit.c_library, replay.libc),
    )
    return exact, absent


def _existing(answers: Redacted) -> dict[str, bool]:
    return {answers.text(path): there for path, there in answers.visit.there.items()}


def _other(told: Mapping[str, Fact[T]], ask: Callable[[str], Fact[T]]) -> dict[str, Fact[T]]:
    return {path: fact for path, fact in told.items() if ask(path) != fact}


def _exactly(told: Mapping[str, Fact[T]], ask: Callable[[str], Fact[T]]) -> dict[str, RecordedFact[T]]:
    return {path: _recorded(fact) for path, fact in _other(told, ask).items()}


def _single(told: Fact[T] | None, ask: Callable[[], Fact[T]]) -> RecordedFact[T] | None:
    return _recorded(told) if told and ask() != told else None


def _recorded(fact: Fact[T]) -> RecordedFact[Any]:
    if isinstance(fact, Found):
        return RecordedFact(found=fact.value, source=fact.source)
    return RecordedFact(absent=fact.why) if isinstance(fact, Absent) else RecordedFact(unreadable=fact.why)
