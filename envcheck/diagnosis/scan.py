"""A log read once, block by block, in memory that does not grow with it: the lines that bear a signature, and those that only complain."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator

import msgspec

from envcheck.diagnosis.index import CORE, Fit, Index

_LONGEST = 4096  # bytes of a line that are looked at
_WINDOW = 16 << 10  # bytes before a line in which its traceback stands
_MOST_HITS = 2000  # remembered; of a signature the first ones
_MOST_OF_ONE = 4
_EVERY_PICK = 4 << 20  # bytes at a log's beginning, and as many at its end, in which every word is looked for
_TELLING = 40  # lines that only complain
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)?|.)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WORDS = re.compile(rb"[A-Za-z0-9_]{3,}")
_LEVEL = re.compile(r"(?:^|[\s\])|:])\[?(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)[\s:\]]")
_EXCEPTION = re.compile(r"(?:^|[\s\]])((?:[A-Za-z_][\w]{0,60}\.){0,6}[A-Z]\w{2,60}(?:Error|Exception|Exit|Interrupt|Warning))(?::|$)")
_HEAD = 100  # bytes in which a line's level stands
_PYDANTIC = " [type=value_error, input_value="  # what follows is the configuration that was refused
_QUIET = frozenset({"DEBUG", "INFO", "WARNING"})


class Hit(msgspec.Struct, frozen=True):
    """A line that bears a signature: its number from 1, its text, what it captured; `sure` = what is to stand before it does."""

    number: int
    line: str
    fit: Fit
    sure: bool


class Scan(msgspec.Struct):
    """What a log holds. `telling` = (number, text) of lines that say that something failed and bear no signature, the first of them."""

    lines: int = 0
    hits: list[Hit] = []
    telling: list[tuple[int, str]] = []
    failed: bool = False


class Scanner:
    """Feeds on blocks of bytes that may end anywhere; what is kept of a line went through `hide`."""

    def __init__(self, index: Index, hide: Callable[[str], str] = str) -> None:
        self._index, self._hide = index, hide
        self._seen: dict[str, int] = {}
        self._rest = b""
        self._before = b""
        self._bytes = 0
        self._tail: list[tuple[int, bytes, bytes]] = []  # lines before, what stands before, the lines: looked at in haste
        self.scan = Scan(hits=[], telling=[])

    def feed(self, block: bytes) -> None:
        """The next bytes of the log."""
        data = self._rest + block if self._rest else block
        end = data.rfind(b"\n") + 1
        if not end:
            # A line without an end: what is beyond the longest is dropped.
            self._rest = data if len(data) <= _LONGEST else data[:_LONGEST]
            return
        self._look(data[:end])
        self._rest = data[end:]

    def close(self) -> Scan:
        """The end of the log."""
        if self._rest:
            self._look(self._rest)
            self._rest = b""
        for number, before, data in self._tail:
            self._before = before
            self._lines(data, number, self._index.picks, without=dict(_picked(data, CORE)))
        self._tail.clear()
        self.scan.hits.sort(key=lambda hit: hit.number)
        return self.scan

    def _look(self, data: bytes) -> None:
        """Whole lines."""
        self._bytes += len(data)
        if self._bytes <= _EVERY_PICK:
            self.scan.lines = self._lines(data, self.scan.lines, self._index.picks)
        else:
            self._tail.append((self.scan.lines, self._before, data))
            while sum(len(held) for _, _, held in self._tail[1:]) >= _EVERY_PICK:
                del self._tail[0]
            self.scan.lines = self._lines(data, self.scan.lines, CORE)
        self._before = data[-_WINDOW:] if len(data) >= _WINDOW else (self._before + data)[-_WINDOW:]

    def _lines(self, data: bytes, number: int, picks: Iterable[bytes], without: Container[int] = ()) -> int:
        """Look at the lines that hold one of the words; the number of the last line. `without` = those that begin there were looked at."""
        counted = 0
        for start, end in _picked(data, picks):
            if start not in without:
                number += data.count(b"\n", counted, start)
                counted = start
                self._line(data, start, end, number + 1)
        return number + data.count(b"\n", counted) + (not data.endswith(b"\n"))

    def _line(self, data: bytes, start: int, end: int, number: int) -> None:
        raw = data[start : min(end, start + _LONGEST)]
        if _quietly(raw[:_HEAD]) and self._index.quiet.isdisjoint(_WORDS.findall(raw)):
            return  # most lines of most logs: they need not be taken apart
        line = cleaned(raw)
        fits = list(self._index.fits(line))
        if not fits and len(self.scan.telling) >= _TELLING:
            return
        level = level_of(line)
        if level in _QUIET:
            fits = [fit for fit in fits if fit.signature.warns]
        if fits:
            self._keep(fits, line, number, data, start)
        elif level in ("ERROR", "CRITICAL", "FATAL") or (level is None and _EXCEPTION.search(line)):
            self.scan.failed = True
            if len(self.scan.telling) < _TELLING:
                self.scan.telling.append((number, self._hide(line)))

    def _keep(self, fits: list[Fit], line: str, number: int, data: bytes, start: int) -> None:
        before: bytes | None = None
        best: tuple[bool, int, Fit] | None = None
        # Of equals the one that captures more, then the one whose name comes first: the order of the fits is no order.
        for fit in sorted(fits, key=lambda fit: (-len(fit.values), fit.signature.id)):
            if fit.signature.before:
                if before is None:
                    before = data[max(0, start - _WINDOW) : start] if start >= _WINDOW else (self._before + data[:start])[-_WINDOW:]
                if not any(text.encode() in before for text in fit.signature.before):
                    continue
            asked = (bool(fit.signature.before), fit.weight, fit)
            if best is None or asked[:2] > best[:2]:
                best = asked
        if best is None:
            return
        name = best[2].signature.id
        self._seen[name] = self._seen.get(name, 0) + 1
        if self._seen[name] <= _MOST_OF_ONE and len(self.scan.hits) < _MOST_HITS:
            values = {name: self._hide(value) if isinstance(value, str) else value for name, value in best[2].values.items()}
            self.scan.hits.append(Hit(number, self._hide(line), msgspec.structs.replace(best[2], values=values), best[0]))


def _quietly(head: bytes) -> bool:
    return b"INFO " in head or b"WARNING " in head or b"DEBUG " in head


def scanned(blocks: Iterable[bytes], index: Index) -> Scan:
    """A whole log."""
    scanner = Scanner(index)
    for block in blocks:
        scanner.feed(block)
    return scanner.close()


def cleaned(line: bytes) -> str:
    """A line as text: no terminal escapes, no control characters, what is no UTF-8 replaced; of docker's JSON, the line within."""
    text = line.decode("utf-8", "replace")
    if text.startswith('{"log":"'):
        text = text[8:].replace('\\"', '"').replace("\\n", " ").replace("\\u003c", "<").replace("\\u003e", ">")
    text = text.partition(_PYDANTIC)[0]
    return _ESCAPES.sub("", text).rstrip() if not text.isprintable() else text.rstrip()


def level_of(line: str) -> str | None:
    """The level at which a line was logged; None for one that says none, a traceback's for instance."""
    found = _LEVEL.search(line[:200])
    if found is None or "NCCL WARN" in line:  # which is how NCCL says that it failed
        return None
    return {"WARN": "WARNING"}.get(found[1], found[1])


def _picked(data: bytes, words: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Start and end of each line that holds one of the words, in order, each line once."""
    starts: dict[int, int] = {}
    for word in words:
        at = data.find(word)
        while at >= 0:
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            starts.setdefault(data.rfind(b"\n", 0, at) + 1, end)
            at = data.find(word, end)
    return iter(sorted(starts.items()))
