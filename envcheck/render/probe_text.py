"""The text of `envcheck probe`: every fact with its source, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from envcheck.model.host import Disk, Gpu, HostReport, PciDevice, Provenance, known
from envcheck.render.catalogue import Catalogue, shown
from envcheck.render.host_line import SEPARATOR, gpu_text, host_line, memory_gib
from envcheck.render.layout import wrap_parts
from envcheck.render.table import table

_HIDDEN = frozenset({"schema", "provenance"})
_SUMMED_UP = frozenset({"gpus", "toolkits", "disk", "processes", "accelerators"})  # one row an entry; every other list is one row


def probe_text(host: HostReport, catalogue: Catalogue, *, verbose: bool = False, cloud_name: str | None = None) -> str:
    """A table of the facts. Without `verbose`, facts that are absent without a reason to mention stay out."""
    heads = [catalogue.say(f"probe.head-{name}") for name in ("fact", "value", "source")]
    rows = [row for path, value in _facts(host) if (row := _row(host, path, value, catalogue, verbose))]
    head = "\n".join(wrap_parts(host_line(host, catalogue, cloud_name), SEPARATOR, indent="  "))
    return f"{head}\n\n{table(heads, rows)}\n"


def _facts(host: HostReport) -> Iterator[tuple[str, object]]:
    for name in HostReport.__struct_fields__:
        if name in _HIDDEN:
            continue
        value = getattr(host, name)
        if isinstance(value, msgspec.Struct):
            yield from ((f"{name}.{field}", getattr(value, field)) for field in value.__struct_fields__)
        elif isinstance(value, dict) and value:
            yield from ((f"{name}.{key}", item) for key, item in sorted(value.items()))
        elif isinstance(value, list) and value and name in _SUMMED_UP:
            # As --set takes it.
            yield from ((f"{name}.{index}", item) for index, item in enumerate(value))
        else:
            yield name, value


def _provenance(host: HostReport, path: str) -> Provenance | None:
    if isinstance(host.provenance, msgspec.UnsetType):
        return None
    parents = (path, path.partition(".")[0])
    return next((host.provenance[parent] for parent in parents if parent in host.provenance), None)


def _row(host: HostReport, path: str, value: object, catalogue: Catalogue, verbose: bool) -> list[str] | None:
    origin = _provenance(host, path)
    why = (origin.why or origin.source or "") if origin else ""
    if value is UNSET:
        if origin is None and not verbose:
            return None
        return [path, catalogue.say("probe.unreadable"), why]
    packaged = path.startswith("packages.") and not verbose  # one of many: a folder beside each would drown the table
    if value is None or value in ([], {}):
        if packaged:
            return None
        return [path, catalogue.say("probe.absent"), why] if verbose or origin else None
    source = (origin.source or origin.why or "") if origin and not packaged else ""
    return [path, (None if verbose else _in_short(value, catalogue)) or _shown(value, catalogue), source]


def _in_short(value: object, catalogue: Catalogue) -> str | None:
    """A GPU, a disk or the PCI devices as people name them; None for any other value."""
    if isinstance(value, Gpu):
        free = memory_gib(value.memory_free_mib)
        return catalogue.say("probe.gpu-free", gpu=gpu_text(value, catalogue), free=free) if free else gpu_text(value, catalogue)
    if isinstance(value, Disk) and (free := memory_gib(value.free_mib)):
        return catalogue.say("probe.disk", free=free, path=known(value.path))
    if isinstance(value, list) and value and all(isinstance(item, PciDevice) for item in value):
        kinds = Counter(" ".join(str(known(part) or "?") for part in (item.kind, f"{item.vendor}:{item.device}")) for item in value)
        return ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    return None


def _shown(value: object, catalogue: Catalogue) -> str:
    if isinstance(value, bool):
        return catalogue.say("probe.yes" if value else "probe.no")
    if isinstance(value, (str, int, float)):
        return shown(value, catalogue.lang)
    if isinstance(value, list):
        return ", ".join(_shown(item, catalogue) for item in value[:16]) + (" …" if len(value) > 16 else "")
    fields = msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value
    return (
        ", ".join(f"{name}={_shown(item, catalogue)}" for name, item in fields.items() if item is not None)
        if isinstance(fields, dict)
        else "?"
    )
