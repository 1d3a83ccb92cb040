"""Rules on the health of GPUs: those that do not answer, worn memory, brakes of the hardware, what the kernel's log says of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.model.host_parts import GpuHealth, Xid
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.places import address, where, wheres
from envcheck.rules.situation import GpuFact, Situation, only_visible, text

_CODE = "gpu-fault"
# Reasons of the hardware itself; a power cap and warm silicon are daily business.
_BRAKES = ("hardware-slowdown", "hardware-thermal", "hardware-power-brake")
_KINDS = ("lost", "memory", "link", "firmware")  # from the gravest; what an application did is worth a word only
_LOG_EVENTS = {"fell-off-the-bus": "lost", "firmware-failed": "firmware"}


def faults(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs that do not answer among those that do."""
    bad = [gpu for gpu in situation.gpus if gpu.error is not None]
    if not bad:
        return
    names = ", ".join(f"{where(gpu)}: {gpu.error}" for gpu in bad)[:300]
    make = error if len(bad) == len(situation.gpus) else warning
    yield make(_CODE, "some", count=len(bad), total=len(situation.gpus), names=names, remedies=_reset(situation, bad))


def health(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """What GPUs that answer report of themselves, the gravest first."""
    reports = [(gpu, told) for gpu in situation.usable_gpus if isinstance(told := gpu.told.health, GpuHealth)]
    if not reports:
        return
    worn = [gpu for gpu, told in reports if told.remap_failed is True]
    waiting = [gpu for gpu, told in reports if told.remap_pending is True or told.retirement_pending is True]
    wrong = [(gpu, count) for gpu, told in reports if (count := known(told.uncorrected_errors) or 0) > 0]
    braked = [(gpu, reasons) for gpu, told in reports if (reasons := _brakes(told))]
    if worn:
        yield from _worn(situation, worn)
    if waiting:
        yield warning(_CODE, "reset", gpus=wheres(waiting), remedies=_reset(situation, waiting))
    if wrong:
        yield warning(_CODE, "memory", gpus=_counted(wrong), remedies=_reset(situation, [gpu for gpu, _ in wrong]))
    if braked:
        named = ", ".join(dict.fromkeys(reason for _, found in braked for reason in found))
        yield warning(_CODE, "slow", gpus=wheres(gpu for gpu, _ in braked), reasons=named, remedies=(remedy("hardware", "cooling"),))


def _worn(situation: Situation, worn: list[GpuFact]) -> Iterator[Finding]:
    """Boards with no spare rows left: an error where none is left that is whole."""
    whole = [gpu for gpu in situation.usable_gpus if gpu not in worn]
    ways = [remedy("hardware", "replace-gpu")]
    if whole:
        ways.insert(0, remedy("setting", "visible-healthy", only_visible(situation, whole)))
    yield (warning if whole else error)(_CODE, "replace", gpus=wheres(worn), remedies=tuple(ways))


def _brakes(told: GpuHealth) -> list[str]:
    return [reason for reason in known(told.throttle) or () if reason in _BRAKES]


def _counted(wrong: list[tuple[GpuFact, int]]) -> str:
    return ", ".join(f"{where(gpu)}: {count}" for gpu, count in wrong[:8])


def _reset(situation: Situation, gpus: list[GpuFact]) -> tuple[Remedy, ...]:
    """A reset by index where this host may do it; a container, WSL and a GPU without a number leave it to the host."""
    if situation.wsl or text(situation.host.container, "kind"):
        return (remedy("reboot", "reset-gpu-outside"),)
    indices = ",".join(str(gpu.index) for gpu in gpus if gpu.index is not None)
    commands = (f"sudo nvidia-smi --gpu-reset -i {indices}",) if indices else ()
    return (remedy("reboot", "reset-gpu", *commands, root=True),)


def kernel_log(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Xids and other words of the kernel since boot; an Xid of a GPU that is not shown here counts for nothing."""
    log = known(situation.host.kernel_log)
    if log is None:
        return
    shown = {address(place) for gpu in situation.gpus if (place := known(gpu.told.pci_bus_id))}
    xids = [xid for xid in known(log.xids) or () if _concerns(xid, shown)]
    kinds = {matrix.xids[xid.number] for xid in xids if xid.number in matrix.xids}
    events = {_LOG_EVENTS[event] for event in known(log.events) or () if event in _LOG_EVENTS}
    for kind in _KINDS:
        if kind in kinds:
            numbers = [xid for xid in xids if matrix.xids.get(xid.number) == kind]
            yield warning(_CODE, f"xid-{kind}", remedies=_reset(situation, []), **_numbers(numbers))
            return
        if kind in events:
            yield warning(_CODE, f"log-{kind}", remedies=_reset(situation, []))
            return
    if "application" in kinds:
        yield info(_CODE, "xid-application", **_numbers(xids))


def _concerns(xid: Xid, shown: set[str]) -> bool:
    place = known(xid.pci_bus_id)
    return not place or not shown or address(place) in shown


def _numbers(xids: list[Xid]) -> dict[str, Any]:
    """The numbers and how often they came."""
    return {"xids": ", ".join(str(number) for number in sorted({xid.number for xid in xids})), "count": sum(xid.count for xid in xids)}


def links(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs on fewer PCI Express lanes than GPU and slot could use together."""
    narrow = []
    for gpu in situation.usable_gpus:
        link = known(gpu.told.pcie)
        width, most = (known(link.width), known(link.width_max)) if link else (None, None)
        if width and most and width * matrix.thresholds["pcie-lanes-lost"] <= most:
            narrow.append((gpu, width, most))
    if narrow:
        gpu, width, most = narrow[0]
        yield info(_CODE, "link", gpus=wheres(found[0] for found in narrow), width=width, most=most)
