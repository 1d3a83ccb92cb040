"""What each finding rests on: the facts its rule reads, their values and where each was read; and the sources of its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from envcheck.matrix.load import Matrix
from envcheck.model.finding import FactSeen, Finding
from envcheck.model.host import Gpu, HostReport, Provenance
from envcheck.rules.registry import reads_of

_MOST = 24
_TEXT = 300
_ENTRIES = 8
_OF_GPU = ("name", "compute_capability", "memory_mib", "error")


def with_evidence(findings: Iterable[Finding], host: HostReport, matrix: Matrix) -> tuple[Finding, ...]:
    """The findings, and their consequences, with `facts` and `sources` filled in; at most 24 facts each."""
    return tuple(
        replace(
            finding,
            facts=tuple(facts_of(finding.code, host)),
            sources=finding.sources or _sources(finding.code, matrix),
            consequences=with_evidence(finding.consequences, host, matrix),
        )
        for finding in findings
    )


def _sources(code: str, matrix: Matrix) -> tuple[str, ...]:
    record = matrix.codes.get(code)
    return tuple(record.sources) if record else ()


def facts_of(code: str, host: HostReport) -> list[FactSeen]:
    """The facts behind a code on this host; those that are not known are left out."""
    seen: dict[str, FactSeen] = {}
    for path in reads_of(code):
        for inner, value in _values(host, path):
            origin = _origin(host, inner)
            source = (origin.source or origin.why) if origin else None
            seen.setdefault(inner, FactSeen(inner, value, source[:_TEXT] if source else None))
    return list(seen.values())[:_MOST]


def _values(host: HostReport, path: str) -> Iterator[tuple[str, Any]]:
    place: Any = host
    for key in path.split("."):
        place = place.get(key, UNSET) if isinstance(place, dict) else getattr(place, key, UNSET)
        if place is UNSET or place is None:
            return
    yield from _leaves(path, place)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Scalars below a value: fields of a part, those of a GPU that tell it, the length of any other list."""
    if isinstance(value, str):
        yield path, value[:_TEXT]
    elif isinstance(value, bool | int | float):
        yield path, value
    elif isinstance(value, list):
        if all(isinstance(entry, Gpu) for entry in value):
            for place, gpu in enumerate(value[:_ENTRIES]):
                found = ((f"{path}.{place}.{field}", getattr(gpu, field)) for field in _OF_GPU)
                yield from ((name, entry) for name, entry in found if entry is not UNSET and entry is not None)
        elif value and all(isinstance(entry, str) for entry in value):
            yield path, ", ".join(value[:_ENTRIES])[:_TEXT]
        else:
            yield path, len(value)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            if isinstance(inner, str | bool | int | float):
                yield from _leaves(f"{path}.{field}", inner)


def _origin(host: HostReport, path: str) -> Provenance | None:
    """The provenance of a path, or of the nearest part around it."""
    if host.provenance is UNSET:
        return None
    while path:
        if path in host.provenance:
            return host.provenance[path]
        path = path.rpartition(".")[0]
    return None
