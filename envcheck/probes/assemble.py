"""Facts by dotted path → the host document, with the state of every one of its fields."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.host import (
    SCHEMA,
    Attempt,
    Cloud,
    Container,
    Cudnn,
    Driver,
    Fabric,
    HostReport,
    KernelModules,
    Libcuda,
    Memory,
    Nccl,
    OperatingSystem,
    Pci,
    Provenance,
    Python,
    Torch,
)
from envcheck.model.host_parts import ContainerRuntime, Cpu, CudaHome, Interconnect, KernelLog, Limits
from envcheck.probes.facts import Facts

# Parts made of single fields; every other field of the document is one fact as a whole.
PARTS: dict[str, type[msgspec.Struct]] = {
    "os": OperatingSystem,
    "python": Python,
    "driver": Driver,
    "torch": Torch,
    "cudnn": Cudnn,
    "memory": Memory,
    "container": Container,
    "cloud": Cloud,
    "fabric": Fabric,
    "libcuda": Libcuda,
    "kernel_modules": KernelModules,
    "pci": Pci,
    "nccl": Nccl,
    "cuda_home": CudaHome,
    "cpu": Cpu,
    "limits": Limits,
    "container_runtime": ContainerRuntime,
    "kernel_log": KernelLog,
    "interconnect": Interconnect,
}
WHOLES = tuple(name for name in HostReport.__struct_fields__ if name not in PARTS and name not in ("schema", "provenance"))
_LONGEST = 4096  # characters of a source or reason; a path may be as long
_MOST_TRIED = 64
_NOT_PROBED = Unreadable("not looked at")


def document_paths() -> tuple[str, ...]:
    """The dotted path of every fact the document can hold."""
    return (*WHOLES, *(f"{part}.{field}" for part, kind in PARTS.items() for field in kind.__struct_fields__))


def assemble(facts: Facts, *, explain: bool = False) -> HostReport:
    """The report: a found fact's value, None where it is known to be absent, a missing key where nobody knows.

    `explain` = with every source that was asked for a fact, in order.
    """
    states = {path: facts.get(path, _NOT_PROBED) for path in document_paths()} | facts
    values: dict[str, Any] = {name: _value(states[name]) for name in WHOLES}
    for part, kind in PARTS.items():
        fields = {field: states[f"{part}.{field}"] for field in kind.__struct_fields__}
        values[part], gap = _part(kind, fields)
        if gap:
            states[part] = gap
    told = explained if explain else _provenance
    provenance = {path: told(states[path]) for path in sorted(states)}
    return HostReport(schema=SCHEMA, **values, provenance=provenance)


def _part(kind: type[msgspec.Struct], fields: Facts) -> tuple[Any, Absent | Unreadable | None]:
    """The part's value; None when all of it is absent, UNSET when nothing is known of it, with the reason."""
    first = next(iter(fields.values()))
    if all(isinstance(fact, Absent) for fact in fields.values()):
        return None, Absent(first.why) if isinstance(first, Absent) else None
    if all(isinstance(fact, Unreadable) for fact in fields.values()):
        return UNSET, Unreadable(first.why) if isinstance(first, Unreadable) else None
    return kind(**{field: _value(fact) for field, fact in fields.items()}), None


def _value(fact: Fact[Any]) -> Any:
    if isinstance(fact, Found):
        return fact.value
    return None if isinstance(fact, Absent) else UNSET


def _provenance(fact: Fact[Any]) -> Provenance:
    if isinstance(fact, Found):
        return Provenance("found", source=fact.source[:_LONGEST])
    return Provenance("absent" if isinstance(fact, Absent) else "unreadable", why=fact.why[:_LONGEST])


def explained(fact: Fact[Any]) -> Provenance:
    """The provenance with every source asked, the one that answered last."""
    own = _provenance(fact)
    asked = [Attempt(one.state, one.why[:_LONGEST]) for one in fact.tried[:_MOST_TRIED]]
    if isinstance(fact, Found):
        asked.append(Attempt("found", fact.source[:_LONGEST]))
    elif not asked:
        asked.append(Attempt("absent" if isinstance(fact, Absent) else "unreadable", fact.why[:_LONGEST]))
    return replace(own, tried=asked)
