"""Cross-references of advisories and driver bulletins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from packaging.specifiers import InvalidSpecifier
from packaging.version import InvalidVersion, Version

from envcheck.matrix.advisories import AdvisoriesFile, Advisory, Bulletin, span
from envcheck.matrix.problem import Loaded, Problem, is_date
from envcheck.matrix.release import specifier
from envcheck.model.versions import driver_version

Found = Iterator[tuple[str, str]]


def advisory_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of advisories and bulletins."""
    file: AdvisoriesFile = loaded.value("advisories.json")
    found = {"advisories.json": _of_file(file), "driver_security.json": _of_bulletins(loaded.value("driver_security.json"))}
    for name, problems in found.items():
        yield from (loaded.problem(name, path, what) for path, what in problems)


def _of_file(file: AdvisoriesFile) -> Found:
    if sorted(cutoff.about for cutoff in file.cutoffs) != ["nvidia", "packages"]:
        yield "$.cutoffs", "one cutoff each of packages and nvidia"
    yield from ((f"$.cutoffs[{index}].date", "no ISO date") for index, one in enumerate(file.cutoffs) if not is_date(one.date))
    for index, guard in enumerate(file.key_guards):
        if not _is_specifier(guard.releases):
            yield f"$.key_guards[{index}].releases", f"`{guard.releases}`"
        if not all(path.startswith("/") for path in (*guard.guarded, *guard.open)):
            yield f"$.key_guards[{index}]", "a path begins with /"
    for place, (before, after) in enumerate(pairwise(file.advisories), start=1):
        if not (before.package, before.id) < (after.package, after.id):
            yield f"$.advisories[{place}]", "out of order, or twice the same"
    for index, advisory in enumerate(file.advisories):
        yield from ((f"$.advisories[{index}].{field}", what) for field, what in _of_advisory(advisory))


def _of_advisory(advisory: Advisory) -> Found:
    for field in ("affected", "affected_conservative"):
        text = getattr(advisory, field)
        if text is not None and not _is_range(text):
            yield field, f"`{text}` is no range of versions"
    if advisory.fixed is not None:
        try:
            # The published word, not ours: what is fixed must lie above what is affected.
            if _is_range(advisory.affected) and span(advisory.affected).contains(Version(advisory.fixed)):
                yield "fixed", f"{advisory.fixed} is affected itself"
        except InvalidVersion:
            yield "fixed", f"`{advisory.fixed}` is no version"
    if advisory.package != re.sub(r"[-_.]+", "-", advisory.package).lower():
        yield "package", f"`{advisory.package}`: not as the index normalises names"
    if advisory.published is not None and not is_date(advisory.published):
        yield "published", "no ISO date"
    yield from (("models", f"`{name}`") for name in advisory.models if not re.fullmatch(r"[a-z0-9]+", name))
    if not 0 <= (advisory.cvss or 0) <= 10:
        yield "cvss", f"{advisory.cvss} is not 0 to 10"


def _of_bulletins(bulletins: list[Bulletin]) -> Found:
    for index, bulletin in enumerate(bulletins):
        if not is_date(bulletin.date):
            yield f"$[{index}].date", "no ISO date"
        for branch, text in bulletin.fixed.items():
            version = driver_version(text)
            if version is None or str(version.branch) != branch:
                yield f"$[{index}].fixed.{branch}", f"`{text}` is no driver of that branch"
        if not set(bulletin.geforce_only) <= set(bulletin.fixed):
            yield f"$[{index}].geforce_only", "a branch without a fix"


def _is_range(text: str) -> bool:
    """Of the form that is compared here, and a specifier to everyone else."""
    try:
        span(text)
    except InvalidVersion:
        return False
    return _is_specifier(text)


def _is_specifier(text: str) -> bool:
    try:
        specifier(text)
    except InvalidSpecifier:
        return False
    return True
