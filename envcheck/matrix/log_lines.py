"""What cannot be right of log_lines.json: patterns that do not compile, groups nothing reads, releases there are not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from envcheck.matrix.problem import Loaded, Problem, is_specifier
from envcheck.model.loglines import GROUPS, LogLine, LogLinesFile

_FILE = "log_lines.json"


def log_line_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of the lines of start-up logs."""
    file: LogLinesFile = loaded.value(_FILE)
    known = {record.version for _, _, record in loaded.releases()}
    found = [*_of_lines(file), *_of_order("settings", [entry.name for entry in file.settings]), *_of_places(file, known)]
    yield from (loaded.problem(_FILE, path, what) for path, what in found)


def _of_lines(file: LogLinesFile) -> Iterator[tuple[str, str]]:
    yield from _of_order("lines", [entry.id for entry in file.lines])
    for place, entry in enumerate(file.lines):
        yield from ((f"$.lines[{place}]", what) for what in _of_line(entry))


def _of_line(entry: LogLine) -> Iterator[str]:
    if entry.releases and not is_specifier(entry.releases):
        yield f"`{entry.releases}` is no version specifier"
    if not entry.marker.strip():
        yield "a marker that every line holds"
    if not entry.pattern and not entry.says:
        yield "tells nothing"
    try:
        groups = re.compile(entry.pattern).groupindex
    except re.error as error:
        yield f"no regular expression: {error}"
        return
    yield from (f"nothing reads the group `{name}`" for name in groups if name not in GROUPS)


def _of_places(file: LogLinesFile, known: set[str]) -> Iterator[tuple[str, str]]:
    lines = {entry.id for entry in file.lines}
    for place, entry in enumerate(file.places):
        at = f"$.places[{place}]"
        if entry.line not in lines:
            yield at, f"there is no line `{entry.line}`"
        if not re.fullmatch(r"\w+\.py:\d+", entry.place):
            yield at, f"`{entry.place}` is no place in a source file"
        yield from ((at, f"there is no release {name}") for name in entry.releases if name not in known)


def _of_order(kind: str, keys: list[str]) -> Iterator[tuple[str, str]]:
    yield from ((f"$.{kind}[{place}]", "out of order") for place, (before, after) in enumerate(pairwise(keys), 1) if not before < after)
