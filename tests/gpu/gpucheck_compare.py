"""The host document beside what `nvidia-smi` says, fact by fact. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gpucheck_smi import Row, Smi, number

MISSING = object()  # not in the document: not known
Json = Mapping[str, Any]
THROTTLE = {0x04: "power-cap", 0x08: "hardware-slowdown", 0x20: "software-thermal", 0x40: "hardware-thermal", 0x80: "hardware-power-brake"}
COMPUTE_MODES = {"Default": "default", "Exclusive_Process": "exclusive-process", "Prohibited": "prohibited"}
FABRIC = {"Completed": "completed", "In Progress": "in-progress", "Not Started": "not-started", "Not Supported": "unsupported"}
VIRTUALIZATION = {"None": "none", "Pass-Through": "passthrough", "VGPU": "vgpu", "Host VGPU": "host-vgpu", "Host VSGA": "host-vsga"}
LINKS = {"PIX": "single-switch", "PXB": "multiple-switches", "PHB": "host-bridge", "NODE": "node", "SYS": "system", "PSB": "internal"}
P2P = {
    "OK": "ok",
    "CNS": "chipset-not-supported",
    "GNS": "gpu-not-supported",
    "TNS": "topology-not-supported",
    "DR": "disabled-by-regkey",
    "NS": "not-supported",
    "U": "unknown",
}
MEMORY_MIB = 256  # what a host at rest may give or take between two readings
DEGREES_C = 10
WATTS = 1.0


class Result(NamedTuple):
    """One comparison: `verdict` is PASS, FAIL or SKIP; `ours` and `theirs` as compared."""

    fact: str
    verdict: str
    ours: Any
    theirs: Any
    why: str = ""

    def line(self) -> str:
        """As it is printed."""
        end = f" ({self.why})" if self.why else ""
        return f"{self.verdict} {self.fact}: envcheck {self.ours!r}, nvidia-smi {self.theirs!r}{end}"


class Field(NamedTuple):
    """A query field, the document's path in a GPU, how its text becomes a value, and by how much a number may differ."""

    theirs: str
    ours: str
    read: Callable[[str], Any]
    tolerance: float = 0.0


def _switch(text: str) -> bool:
    return {"Enabled": True, "Yes": True, "1": True, "Disabled": False, "No": False, "0": False}[text]


def _address(text: str) -> str:
    domain, _, rest = text.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"


def _throttle(text: str) -> list[str]:
    return [name for bit, name in THROTTLE.items() if int(text, 16) & bit]


FIELDS = (
    Field("name", "name", str),
    Field("uuid", "uuid", str),
    Field("pci.bus_id", "pci_bus_id", _address),
    Field("compute_cap", "compute_capability", str),
    Field("memory.total", "memory_mib", float, 1.0),
    Field("memory.free", "memory_free_mib", float, MEMORY_MIB),
    Field("mig.mode.current", "mig", _switch),
    Field("persistence_mode", "persistence", _switch),
    Field("compute_mode", "compute_mode", COMPUTE_MODES.__getitem__),
    Field("display_active", "display", _switch),
    Field("enforced.power.limit", "power_limit_w", float, WATTS),
    Field("power.default_limit", "power_default_w", float, WATTS),
    Field("pcie.link.gen.max", "pcie.generation_max", int),
    Field("pcie.link.width.current", "pcie.width", int),
    Field("pcie.link.width.max", "pcie.width_max", int),
    Field("ecc.mode.current", "health.ecc", _switch),
    Field("ecc.errors.uncorrected.volatile.total", "health.uncorrected_errors", int),
    Field("retired_pages.pending", "health.retirement_pending", _switch),
    Field("temperature.gpu", "health.temperature_c", int, DEGREES_C),
    Field("clocks_event_reasons.active", "health.throttle", _throttle),
)
DETAILS = (
    Field("bar1", "bar1_mib", number, 1.0),
    Field("virtualization", "virtualization", VIRTUALIZATION.__getitem__),
    Field("remap_pending", "health.remap_pending", _switch),
    Field("remap_failed", "health.remap_failed", _switch),
)
OF_A_SLICE = frozenset({"name", "uuid", "memory.total", "memory.free", "mig.mode.current"})  # a MIG entry has its own

OF_THE_SYSTEM = frozenset({"memory.total", "memory.free"})  # a GPU without memory of its own shares the system's


def compare(document: Json, smi: Smi) -> list[Result]:
    """Every overlapping fact, in the document's order."""
    return [*_driver(document, smi), *_gpus(document, smi), *_fabric(document, smi), *_pairs(document, smi), *_processes(document, smi)]


def at(document: Json, path: str) -> Any:
    """The value at a dotted path, MISSING where it or a parent is not there; below a null, null."""
    held: Any = document
    for key in path.split("."):
        if held is None:
            return None
        if not isinstance(held, Mapping) or key not in held:
            return MISSING
        held = held[key]
    return held


def judged(fact: str, ours: Any, theirs: Any, tolerance: float = 0.0) -> Result:
    """Numbers within the tolerance, everything else to the letter. What neither has is equal, also where we only do not know it."""
    if ours is MISSING:
        return Result(fact, "PASS" if theirs is None else "FAIL", "not known", theirs)
    if tolerance and isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return Result(fact, "PASS" if abs(ours - theirs) <= tolerance else "FAIL", ours, theirs)
    return Result(fact, "PASS" if ours == theirs else "FAIL", ours, theirs)


def _field(label: str, gpu: Json, row: Row, field: Field) -> Result:
    fact = f"{label}.{field.ours}"
    if field.theirs not in row:
        return Result(fact, "SKIP", at(gpu, field.ours), None, f"this nvidia-smi has no {field.theirs}")
    text = row[field.theirs]
    try:
        theirs = None if text is None else field.read(text)
    except (ValueError, KeyError):
        return Result(fact, "FAIL", at(gpu, field.ours), text, "a value that this script does not know")
    return judged(fact, at(gpu, field.ours), theirs, field.tolerance)


def _driver(document: Json, smi: Smi) -> Iterator[Result]:
    version = next((row["driver_version"] for row in smi.rows if row.get("driver_version")), None)
    yield judged("driver.version", at(document, "driver.version"), version)
    yield (
        judged("driver.cuda", at(document, "driver.cuda"), smi.cuda) if smi.cuda else Result("driver.cuda", "SKIP", None, None, "not told")
    )


def _gpus(document: Json, smi: Smi) -> Iterator[Result]:
    entries = document.get("gpus") or []
    yield judged("gpus: how many", len({entry.get("index") for entry in entries}), len(smi.rows))
    for entry in entries:
        index = entry.get("index")
        row = next((row for row in smi.rows if row.get("index") == str(index)), None)
        if row is None:
            yield Result(f"gpu{index}", "FAIL", entry.get("name"), None, "nvidia-smi does not list it")
            continue
        label = f"gpu{index}"
        divided = row.get("mig.mode.current") == "Enabled"
        passed_over = OF_A_SLICE if divided else OF_THE_SYSTEM if entry.get("unified_memory") is True else frozenset()
        fields = [field for field in FIELDS if field.theirs not in passed_over]
        yield from (_field(label, entry, row, field) for field in fields)
        yield _generation(label, entry, row)
        details = smi.details[index] if isinstance(index, int) and index < len(smi.details) else {}
        yield from (_field(label, entry, details, field) for field in DETAILS)
        yield _remapped(label, entry, details)
        yield _links(label, entry, smi.nvlinks.get(index))


def _generation(label: str, entry: Json, row: Row) -> Result:
    """An idle link drops its generation between two readings: both must lie within what the link can do."""
    ours, theirs, most = at(entry, "pcie.generation"), number(row.get("pcie.link.gen.current")), number(row.get("pcie.link.gen.max"))
    if theirs is None or most is None or not isinstance(ours, int):
        return judged(f"{label}.pcie.generation", ours, theirs)
    return Result(f"{label}.pcie.generation", "PASS" if 1 <= ours <= most else "FAIL", ours, theirs, f"at most {most:g}")


def _remapped(label: str, entry: Json, details: Row) -> Result:
    fact = f"{label}.health.remapped_rows"
    if "remapped_corr" not in details or "remapped_unc" not in details:
        return Result(fact, "SKIP", at(entry, "health.remapped_rows"), None, "not in the report")
    counts = [number(details[key]) for key in ("remapped_corr", "remapped_unc")]
    return judged(fact, at(entry, "health.remapped_rows"), None if None in counts else sum(count or 0 for count in counts))


def _links(label: str, entry: Json, theirs: int | None) -> Result:
    """A board without links is not in the list, or there with none."""
    ours = at(entry, "nvlinks")
    return judged(f"{label}.nvlinks", ours or 0 if ours is not MISSING else ours, theirs or 0)


def _fabric(document: Json, smi: Smi) -> Iterator[Result]:
    told = {row.get("fabric.state") for row in smi.rows}
    states = {FABRIC.get(state or "Not Supported", state) for state in told}
    ours = at(document, "fabric.state")
    if not any("fabric.state" in row for row in smi.rows):
        yield Result("fabric.state", "SKIP", None if ours is MISSING else ours, None, "this nvidia-smi has no fabric.state")
    elif len(states) > 1:
        yield Result("fabric.state", "SKIP", ours, sorted(map(str, states)), "the GPUs differ")
    else:
        theirs = states.pop()
        yield judged("fabric.state", "unsupported" if ours in (MISSING, None) else ours, theirs)


def _pairs(document: Json, smi: Smi) -> Iterator[Result]:
    pairs = {(pair["a"], pair["b"]): pair for pair in document.get("topology") or []}
    for what, theirs, names in (("link", smi.links, LINKS), ("p2p", smi.p2p, P2P)):
        for (a, b), cell in sorted(theirs.items()):
            meant = "nvlink" if cell.startswith("NV") else names.get(cell, cell)
            yield judged(f"topology.{a}-{b}.{what}", at(pairs.get((a, b), {}), what), meant)


def _processes(document: Json, smi: Smi) -> Iterator[Result]:
    ours: dict[int, set[int]] = {}
    for process in document.get("processes") or []:
        ours.setdefault(process.get("gpu", -1), set()).add(process.get("pid", -1))
    for index, theirs in sorted(smi.processes.items()):
        yield judged(f"gpu{index}.processes", sorted(ours.get(index, set())), sorted(theirs))
