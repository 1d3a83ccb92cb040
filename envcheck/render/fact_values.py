"""Values of facts as people read them: a GPU, a disk, the copies of a library, the pairs of GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import UnsetType

from envcheck.model.host import Disk, Gpu, PciDevice, Process, Toolkit, known
from envcheck.model.host_parts import GpuPair, LibraryCopy, LoaderFolder, NetworkPort, PackageOrigin, PackageProblem, Xid
from envcheck.render.catalogue import Catalogue, shown
from envcheck.render.host_line import gpu_text, memory_gib

_MOST = 16  # entries of a list in one cell
_MOST_SHORT = 4
# A field of a GPU is worth a word beside its name where its value is not the ordinary one.
_ORDINARY: dict[str, tuple[object, ...]] = {
    "mig_pending": (),
    "virtualization": ("none", "passthrough"),
    "compute_mode": ("default",),
    "display": (False,),
}
_HEALTHY: dict[str, tuple[object, ...]] = {
    "uncorrected_errors": (0,),
    "remap_pending": (False,),
    "remap_failed": (False,),
    "retirement_pending": (False,),
    "throttle": ([],),
}


def full_value(value: object, catalogue: Catalogue) -> str:
    """Everything of a value."""
    if value is None:
        return catalogue.say("probe.absent")
    if isinstance(value, bool):
        return catalogue.say("probe.yes" if value else "probe.no")
    if isinstance(value, (str, int, float)):
        return shown(value, catalogue.lang)
    if isinstance(value, UnsetType):
        return catalogue.say("probe.unreadable")
    if isinstance(value, list):
        items = [f"({full_value(item, catalogue)})" if isinstance(item, msgspec.Struct) else full_value(item, catalogue) for item in value]
        return ", ".join(items[:_MOST]) + (" …" if len(items) > _MOST else "") if items else catalogue.say("probe.absent")
    fields = _fields(value)
    return ", ".join(f"{name}={full_value(item, catalogue)}" for name, item in fields) or catalogue.say("probe.absent")


def _fields(value: object) -> list[tuple[str, object]]:
    """The known fields of a part of the document, or the entries of a map."""
    if isinstance(value, msgspec.Struct):
        pairs = [(name, getattr(value, name)) for name in value.__struct_fields__]
        return [(name, item) for name, item in pairs if item is not None and not isinstance(item, UnsetType)]
    return [(shown(str(name)), item) for name, item in value.items()] if isinstance(value, dict) else []


def short_value(value: object, catalogue: Catalogue) -> str:
    """What is worth a line of a value."""
    if isinstance(value, list) and value:
        for kind, tell in _LISTS.items():
            if isinstance(value[0], kind):
                return tell(value, catalogue)
    tell_one = _SHORT.get(type(value))
    return tell_one(value, catalogue) if tell_one else full_value(value, catalogue)


def _gpu(gpu: Gpu, catalogue: Catalogue) -> str:
    free = memory_gib(gpu.memory_free_mib)
    text = catalogue.say("probe.gpu-free", gpu=gpu_text(gpu, catalogue), free=free) if free else gpu_text(gpu, catalogue)
    return "; ".join([text, *_remarks(gpu, catalogue)])


def _remarks(gpu: Gpu, catalogue: Catalogue) -> list[str]:
    """What is not as it ordinarily is, under the names that the document has for it."""
    remarks = _unusual(gpu, _ORDINARY, catalogue)
    if health := known(gpu.health):
        remarks += _unusual(health, _HEALTHY, catalogue)
    link = known(gpu.pcie)
    width, most = (known(link.width), known(link.width_max)) if link else (None, None)
    if width and most and width < most:
        remarks.append(catalogue.say("probe.pcie-width", width=width, most=most))
    return remarks


def _unusual(part: msgspec.Struct, ordinary: dict[str, tuple[object, ...]], catalogue: Catalogue) -> list[str]:
    values = ((name, getattr(part, name), usual) for name, usual in ordinary.items())
    return [
        f"{name}={full_value(value, catalogue)}"
        for name, value, usual in values
        if value is not None and not isinstance(value, UnsetType) and value not in usual
    ]


def _disk(disk: Disk, catalogue: Catalogue) -> str:
    free = memory_gib(disk.free_mib)
    text = catalogue.say("probe.disk", free=free, path=known(disk.path)) if free else shown(known(disk.path))
    remarks = [", ".join(known(disk.purposes) or [])]
    if known(disk.network):
        remarks.append(catalogue.say("probe.network-disk", file_system=known(disk.file_system) or "?"))
    if known(disk.read_only):
        remarks.append(catalogue.say("probe.read-only"))
    elif known(disk.writable) is False:
        remarks.append(catalogue.say("probe.not-writable"))
    return "; ".join(part for part in (text, *remarks) if part)


def _toolkit(toolkit: Toolkit, catalogue: Catalogue) -> str:
    remarks = [text for text in (known(toolkit.origin), catalogue.listed(known(toolkit.selected_by) or [])) if text]
    text = " ".join(shown(part) for part in (known(toolkit.version), known(toolkit.path)) if part)
    return f"{text} ({'; '.join(shown(remark) for remark in remarks)})" if remarks else text


def _process(process: Process, catalogue: Catalogue) -> str:
    return catalogue.say(
        "probe.process",
        name=known(process.name) or "?",
        pid=known(process.pid),
        gpu=known(process.gpu),
        memory=memory_gib(process.memory_mib) or "?",
    )


def _loader_folder(folder: LoaderFolder, catalogue: Catalogue) -> str:
    return f"{shown(folder.path)} ({shown(folder.named_by)}): {_some(folder.libraries, catalogue)}"


def _problem(problem: PackageProblem, _: Catalogue) -> str:
    return ": ".join(shown(part) for part in (problem.kind, problem.name, known(problem.detail) or known(problem.path)) if part)


def _origin(origin: PackageOrigin, catalogue: Catalogue) -> str:
    parts = [known(origin.url), known(origin.vcs), (known(origin.commit) or "")[:12] or None]
    editable = catalogue.say("probe.editable") if known(origin.editable) else None
    return ", ".join(shown(part) for part in (*parts, editable) if part) or full_value(origin, catalogue)


def _some(items: Sequence[str], catalogue: Catalogue) -> str:
    named = catalogue.listed(shown(item) for item in items[:_MOST_SHORT])
    return named if len(items) <= _MOST_SHORT else catalogue.say("probe.and-more", items=named, count=len(items) - _MOST_SHORT)


def _counted(texts: Iterable[str]) -> str:
    return ", ".join(f"{count} x {text}" for text, count in Counter(texts).items())


def _devices(devices: list[PciDevice], _: Catalogue) -> str:
    return _counted(" ".join(shown(part) for part in (known(one.kind), f"{known(one.vendor)}:{known(one.device)}")) for one in devices)


def _pairs(pairs: list[GpuPair], _: Catalogue) -> str:
    return _counted(f"{shown(known(pair.link))} (p2p {shown(known(pair.p2p))})" for pair in pairs)


def _copies(copies: list[LibraryCopy], catalogue: Catalogue) -> str:
    wins = catalogue.say("probe.wins")
    told = [f"{shown(known(one.version))} {shown(known(one.origin))}{f' ({wins})' if known(one.wins) else ''}" for one in copies]
    return _some(told, catalogue)


def _ports(ports: list[NetworkPort], _: Catalogue) -> str:
    def told(port: NetworkPort) -> str:
        rate = known(port.rate_gbps)
        return " ".join(
            shown(part) for part in (known(port.kind), known(port.state), f"{rate:g} Gbit/s" if rate is not None else None) if part
        )

    return _counted(map(told, ports))


def _xids(xids: list[Xid], _: Catalogue) -> str:
    return ", ".join(
        f"{xid.count} x Xid {xid.number}{f' ({shown(bus)})' if (bus := known(xid.pci_bus_id)) else ''}" for xid in xids[:_MOST]
    )


_SHORT: dict[type, Callable[..., str]] = {
    Gpu: _gpu,
    Disk: _disk,
    Toolkit: _toolkit,
    Process: _process,
    LoaderFolder: _loader_folder,
    PackageProblem: _problem,
    PackageOrigin: _origin,
}
_LISTS: dict[type, Callable[..., str]] = {
    PciDevice: _devices,
    GpuPair: _pairs,
    LibraryCopy: _copies,
    NetworkPort: _ports,
    Xid: _xids,
}
