"""A start-up log of any release to measured records: its lines found by the matrix's records, gathered start by start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from envcheck.model.learned import LearnedRun, SettingValue
from envcheck.model.loglines import LogLine, LogLinesFile
from envcheck.readers.learned_run import Hit, learned_run
from envcheck.system.redaction import Redactor

_MOST_HITS = 4000  # of one start; a server that prints a line for ever must not fill memory
_MOST_RUNS = 200
_BEFORE_MESSAGE = 200  # characters in which a worker's name stands
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_WORKER = re.compile(r"\((?P<name>\w{0,40}[Ww]orker\w{0,40}|EngineCore_DP\d{1,4})\s[^()]{0,60}?pid=(?P<pid>\d+)")
_PLACE = re.compile(r"[\[\s](?:[\w./-]{1,200}/)?(\w{1,60}\.py:\d{1,6})\]")


class StartupLog(msgspec.Struct, frozen=True):
    """The starts found in a log, and how many lines it has."""

    runs: list[LearnedRun]
    lines: int


def read_startup_log(chunks: Iterable[bytes], facts: LogLinesFile, name: str) -> StartupLog:
    """The measured records of a log; `chunks` are whole lines, `name` is how the records call it. Never raises for what is in it."""
    groups: list[list[Hit]] = [[]]
    lines = 0
    for number, text, records in _marked(chunks, facts):
        lines = number
        for hit in _hits(number, text, records):
            if _begins(hit, groups[-1]) and len(groups) < _MOST_RUNS:
                groups.append([])
            if len(groups[-1]) < _MOST_HITS:
                groups[-1].append(hit)
    runs = [run for hits in groups if (run := learned_run(hits, facts, name)) is not None]
    return StartupLog([_redacted(run) for run in runs], lines)


def _redacted(run: LearnedRun) -> LearnedRun:
    """The record without keys, people and machines: paths and settings may name them."""
    redactor = Redactor()
    words = {name: value for name, value in run.settings.items() if isinstance(value, str)}
    redactor.learn(" ".join((run.model or "", *words.values())))
    told: dict[str, SettingValue] = redactor.value(words)
    model = redactor.text(run.model) if run.model else None
    return msgspec.structs.replace(run, model=model, settings={**run.settings, **told})


def _marked(chunks: Iterable[bytes], facts: LogLinesFile) -> Iterator[tuple[int, str, list[LogLine]]]:
    """(line number, text, records whose marker it holds) of lines that hold one; at the end the last line's number without any."""
    markers: dict[bytes, list[LogLine]] = {}
    for record in facts.lines:
        markers.setdefault(record.marker.encode(), []).append(record)
    number = 0
    for chunk in chunks:
        here = [marker for marker in markers if marker in chunk]  # searching a whole chunk is much faster than every line
        if not here:
            number += chunk.count(b"\n")
            continue
        lines = chunk.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for place, line in enumerate(lines, start=number + 1):
            found = [record for marker in here if marker in line for record in markers[marker]]
            if found:
                yield place, _COLOUR.sub("", line.decode("utf-8", "replace")), found
        number += len(lines)
    yield number, "", []


def _hits(number: int, text: str, records: list[LogLine]) -> Iterator[Hit]:
    worker, place = _worker(text), _PLACE.search(text)
    for record in records:
        found = re.search(record.pattern, text) if record.pattern else None
        if record.pattern and found is None and record.says is None:
            continue
        told = {key: value for key, value in found.groupdict().items() if value is not None} if found else {}
        yield Hit(record, number, worker, told, place[1] if place else None)


def _worker(text: str) -> str:
    """The worker that prints a line; "" where it is not one of several."""
    found = _WORKER.search(text[:_BEFORE_MESSAGE])  # other programs may write before it
    if found is None:
        return ""
    several = "_" in found["name"]  # `Worker_TP1`; the others share one name, and their process tells them apart
    return found["name"] if several else f"{found['name']} {found['pid']}"


def _begins(hit: Hit, before: list[Hit]) -> bool:
    """Whether a line belongs to another start than those before it: a server's banner, or an engine that begins when one has ended."""
    if hit.record.says == "begins":
        return any(earlier.record.says != "begins" and "model" not in earlier.told for earlier in before)
    ended = any(earlier.record.says not in (None, "begins", "cold", "warm") or "tokens" in earlier.told for earlier in before)
    return "config" in hit.told and ended
