"""Cross-references of regressions: their bounds are releases, their conditions can be judged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from envcheck.matrix.problem import Loaded, Problem, is_specifier, is_version
from envcheck.matrix.regressions import Condition, Regression
from envcheck.matrix.release import specifier
from envcheck.model.versions import compute_capability

Found = Iterator[tuple[str, str]]


def regression_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of regressions."""
    releases = {record.version for _, _, record in loaded.releases() if is_version(record.version)}
    for place, record in enumerate(loaded.value("regressions.json")):
        for path, what in (*_of_bounds(record, releases), *_of_condition(record.condition)):
            yield loaded.problem("regressions.json", f"$[{place}]{path}", what)


def _of_bounds(record: Regression, releases: set[str]) -> Found:
    if not is_specifier(record.releases):
        yield ".releases", f"`{record.releases}` is no specifier"
        return
    wanted = specifier(record.releases)
    if not any(wanted.contains(release, prereleases=True) for release in releases):
        yield ".releases", f"no release is in `{record.releases}`"
    yield from ((".releases", f"there is no release {text}") for text in re.findall(r"[\d.]+\w*", record.releases) if text not in releases)
    for field in ("good_before", "fixed"):
        text = getattr(record, field)
        if text is not None and text not in releases:
            yield f".{field}", f"there is no release {text}"
        elif text is not None and wanted.contains(Version(text), prereleases=True):
            yield f".{field}", f"{text} shows it itself"
    if record.fixed is None and "last" not in record.unknown:
        yield ".fixed", "neither a release without it nor that none is known"
    if record.good_before is None and "first" not in record.unknown and record.fixed is None:
        yield ".good_before", "neither a release without it nor that none is known"
    if record.severity == "avoid" and record.fixed is None and record.good_before is None:
        yield ".severity", "no release is known to go to"


def _of_condition(condition: Condition) -> Found:
    for field in ("capability_from", "capability_to"):
        text = getattr(condition, field)
        if text is not None and compute_capability(text) is None:
            yield f".condition.{field}", f"`{text}` is no compute capability"
    yield from ((".condition.models", f"`{name}`") for name in condition.models if not re.fullmatch(r"[a-z0-9]+", name))
    yield from ((".condition.gpus", f"`{name}`") for name in condition.gpus if name != name.lower() or not name.strip())
    for name, value in condition.arguments.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or not re.fullmatch(r"(>=\d+)?|[a-z0-9_.-]+\*?", value):
            yield ".condition.arguments", f"`{name}` with `{value}`"
