"""What `--explain` shows beside a report: which facts are meant, and what a stated fact stands in place of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from envcheck.errors import UsageError
from envcheck.model.host import HostReport, Provenance
from envcheck.probes.assemble import PARTS, document_paths

_LONGEST = 200  # characters of a replaced value


def explained_report(report: HostReport, before: HostReport, stated: Iterable[str], wanted: tuple[str, ...]) -> HostReport:
    """The report with what each stated fact replaced; the sources asked are kept of the wanted facts only, of all where none is named.

    `before` is the report before anything was stated. UsageError where a wanted fact is no fact of the document.
    """
    entries = {} if isinstance(report.provenance, UnsetType) else dict(report.provenance)
    for fact in wanted:
        if not is_fact(report, fact, entries):
            raise UsageError("error.fact-unknown", fact=fact, known=", ".join(_names()))
    for path in stated:
        if path in entries:
            entries[path] = _replacing(entries[path], before, path)
    kept = {path: entry if is_wanted(path, wanted) else replace(entry, tried=[]) for path, entry in entries.items()}
    return replace(report, provenance=kept)


def is_wanted(path: str, wanted: tuple[str, ...]) -> bool:
    """Whether a dotted path is one of the wanted ones or lies beneath it."""
    return not wanted or any(path == fact or path.startswith(f"{fact}.") for fact in wanted)


def _names() -> list[str]:
    return [name for name in HostReport.__struct_fields__ if name not in ("schema", "provenance")]


def is_fact(report: HostReport, fact: str, entries: Mapping[str, Provenance]) -> bool:
    """Whether the document has such a path, be it known on this host or not."""
    if fact in entries or any(path.startswith(f"{fact}.") for path in entries):
        return True
    part, _, field = fact.partition(".")
    if "" in fact.split("."):
        return False
    if part in PARTS and field:
        return field.partition(".")[0] in PARTS[part].__struct_fields__
    return part in _names() and value_at(report, fact) is not _NOWHERE


_NOWHERE = object()


def value_at(report: HostReport, path: str) -> Any:
    """The value at a dotted path; UNSET where it is not known."""
    place: Any = report
    keys = path.split(".")
    for depth, key in enumerate(keys):
        if isinstance(place, dict):
            name = ".".join(keys[depth:])  # names there may hold dots
            return place.get(name, UNSET)
        if isinstance(place, list):
            place = place[int(key)] if key.isdecimal() and int(key) < len(place) else _NOWHERE
        elif isinstance(place, msgspec.Struct) and key in place.__struct_fields__:
            place = getattr(place, key)
        elif place is None or isinstance(place, UnsetType):
            return place
        else:
            return _NOWHERE
    return place


def _replacing(entry: Provenance, before: HostReport, path: str) -> Provenance:
    earlier = {} if isinstance(before.provenance, UnsetType) else before.provenance
    was = earlier.get(path) or earlier.get(path.partition(".")[0])
    value = value_at(before, path)
    if value is _NOWHERE or isinstance(value, UnsetType):
        text = "not known"
    else:
        text = "none" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")
    return replace(entry, why=f"in place of: {text[:_LONGEST]}", tried=was.tried if was else [])


def explained_facts(report: HostReport, wanted: tuple[str, ...], *, verbose: bool = False) -> list[tuple[str, Any]]:
    """The wanted facts with their values, in the order of the document; without any wanted, every field of it.

    What lies deeper (`gpus.0.memory_mib`, `packages.torch`) is told where it was wanted, stated, or with `verbose`.
    """
    entries = {} if isinstance(report.provenance, UnsetType) else report.provenance
    fields = document_paths()
    places = {name: place for place, name in enumerate(_names())}
    order = {path: (places[path.partition(".")[0]], place) for place, path in enumerate(fields)}
    # What lies deeper follows the field it belongs to; its own order is that of its name.
    paths = sorted(
        {*fields, *entries, *wanted} - PARTS.keys(), key=lambda path: (order.get(_field_of(path, order), (len(places), 0)), path)
    )
    found: list[tuple[str, Any]] = []
    for path in paths:
        told = path in fields or wanted or verbose or entries[path].state == "given"
        if told and is_wanted(path, wanted):
            value = value_at(report, path)
            found.append((path, UNSET if value is _NOWHERE else value))
    return found


def _field_of(path: str, fields: Mapping[str, Any]) -> str:
    """The document's own field that a path is, or lies in."""
    keys = path.split(".")
    return next((name for name in (".".join(keys[:count]) for count in (2, 1)) if name in fields), path)
