"""Cross-references of toolchain.json: ranges and releases that parse, records in order, each thing said once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from envcheck.matrix.problem import Loaded, Problem, is_specifier
from envcheck.model.versions import compute_capability, numbers

_RANGES = ("vllm", "torch", "triton", "passes_by")
_KEYS = {
    "host_compilers": lambda record: numbers(record.cuda) or (),
    "first_toolkits": lambda record: compute_capability(record.capability) or (),
    "kernels": lambda record: record.id,
    "conflicts": lambda record: (record.library, record.by),
}


def toolchain_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of the records of compilers and toolkits."""
    file = loaded.value("toolchain.json")
    for kind in file.__struct_fields__:
        records = getattr(file, kind)
        for place, record in enumerate(records):
            for path, what in _of_record(record):
                yield loaded.problem("toolchain.json", f"$.{kind}[{place}].{path}", what)
        key = _KEYS.get(kind)
        for place, (before, after) in enumerate(pairwise(map(key, records)) if key else (), start=1):
            if not before < after:
                yield loaded.problem("toolchain.json", f"$.{kind}[{place}]", "out of order, or twice the same")


def _of_record(record: Any) -> Iterator[tuple[str, str]]:
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if field in _RANGES and value is not None and not is_specifier(value):
            yield field, f"`{value}` is no specifier"
        elif field == "cuda" and numbers(value) is None:
            yield field, f"`{value}` is no release"
        elif field.startswith("capability") and compute_capability(value) is None:
            yield field, f"`{value}` is no compute capability"
        elif field == "needs":
            yield from ((f"needs.{key}", "no compute capability, or no release") for key, cuda in value.items() if not _need(key, cuda))


def _need(capability: str, cuda: str) -> bool:
    return compute_capability(capability) is not None and numbers(cuda) is not None
