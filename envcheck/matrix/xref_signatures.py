"""What the signatures refer to, and that the words they are found by are in them."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.problem import Loaded, Problem, is_specifier
from envcheck.matrix.template import template


def signature_problems(loaded: Loaded) -> Iterator[Problem]:
    """Unknown codes, ids used twice, ranges that are none, examples missing."""
    codes = {record.code for record in loaded.value("codes.json")}
    seen: dict[str, str] = {}
    lines: dict[tuple[str, tuple[str, ...]], str] = {}
    for file, place, record in loaded.signatures():
        path = f"$[{place}]"
        for code in (record.code, *record.others):
            if code not in codes:
                yield loaded.problem(file, path, f"`{code}` is no finding code")
        if record.id in seen:
            yield loaded.problem(file, path, f"`{record.id}` stands in {seen[record.id]} too")
        seen[record.id] = file
        if record.releases and not is_specifier(record.releases):
            yield loaded.problem(file, f"{path}.releases", f"`{record.releases}` is no specifier")
        for number, text in enumerate(record.lines):
            other = lines.setdefault((text, tuple(record.before)), record.id)
            if other != record.id:
                yield loaded.problem(file, f"{path}.lines[{number}]", f"`{other}` has it too")
            try:
                template(text)
            except ValueError as error:
                yield loaded.problem(file, f"{path}.lines[{number}]", str(error))
        if not record.lines or not record.examples:
            yield loaded.problem(file, path, "no line, or no example of one")
