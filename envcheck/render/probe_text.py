"""The text of `envcheck probe`: every fact with its source, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from envcheck.model.host import HostReport, Provenance
from envcheck.render.catalogue import Catalogue
from envcheck.render.fact_values import full_value, short_value
from envcheck.render.host_line import SEPARATOR, host_line
from envcheck.render.layout import wrap_parts
from envcheck.render.table import table

_HIDDEN = frozenset({"schema", "provenance"})
# One row an entry; every other list is one row.
_SUMMED_UP = frozenset({"gpus", "toolkits", "disk", "processes", "accelerators", "loader_folders", "package_problems"})
_ONE_EACH_IN_FULL = frozenset({"topology"})
_UNLIMITED = ("limits.memlock_mib", "limits.open_files", "limits.processes")


def probe_text(host: HostReport, catalogue: Catalogue, *, verbose: bool = False, cloud_name: str | None = None) -> str:
    """A table of the facts. Without `verbose`, facts that are absent without a reason to mention stay out."""
    heads = [catalogue.say(f"probe.head-{name}") for name in ("fact", "value", "source")]
    rows = [row for path, value in facts_of(host, verbose=verbose) if (row := _row(host, path, value, catalogue, verbose))]
    head = "\n".join(wrap_parts(host_line(host, catalogue, cloud_name), SEPARATOR, indent="  "))
    return f"{head}\n\n{table(heads, rows)}\n"


def facts_of(host: HostReport, *, verbose: bool = False) -> Iterator[tuple[str, object]]:
    """The facts by dotted path, as `--set` takes it; long lists entry by entry."""
    for name in HostReport.__struct_fields__:
        if name in _HIDDEN:
            continue
        value = getattr(host, name)
        if isinstance(value, msgspec.Struct):
            yield from ((f"{name}.{field}", getattr(value, field)) for field in value.__struct_fields__)
        elif isinstance(value, dict) and value and (verbose or name != "tools"):
            yield from ((f"{name}.{key}", item) for key, item in sorted(value.items()))
        elif isinstance(value, list) and value and (name in _SUMMED_UP or (verbose and name in _ONE_EACH_IN_FULL)):
            yield from ((f"{name}.{index}", item) for index, item in enumerate(value))
        else:
            yield name, value


def provenance_of(host: HostReport, path: str) -> Provenance | None:
    """Where the fact comes from, or the part it belongs to."""
    if isinstance(host.provenance, msgspec.UnsetType):
        return None
    parents = (path, path.partition(".")[0])
    return next((host.provenance[parent] for parent in parents if parent in host.provenance), None)


def _row(host: HostReport, path: str, value: object, catalogue: Catalogue, verbose: bool) -> list[str] | None:
    origin = provenance_of(host, path)
    why = (origin.why or origin.source or "") if origin else ""
    if value is UNSET:
        if origin is None and not verbose:
            return None
        return [path, catalogue.say("probe.unreadable"), why]
    packaged = path.startswith("packages.") and not verbose  # one of many: a folder beside each would drown the table
    if value is None or value in ([], {}):
        if packaged:
            return None
        if value is None and path in _UNLIMITED:
            return [path, catalogue.say("probe.unlimited"), why]
        return [path, catalogue.say("probe.absent"), why] if verbose or origin else None
    source = (origin.source or origin.why or "") if origin and not packaged else ""
    if path == "tools" and isinstance(value, dict):
        return [path, catalogue.listed(name for name, place in sorted(value.items()) if place) or catalogue.say("probe.absent"), source]
    return [path, full_value(value, catalogue) if verbose else short_value(value, catalogue), source]
