"""Cross-references of packages.json: ranges that parse, codes of the vocabulary, names written as the index writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from envcheck.matrix.problem import Loaded, Problem, is_specifier
from envcheck.model.versions import compute_capability, numbers

_RANGES = ("versions", "vllm", "needs", "torch", "triton")
_SERIES = ("torchvision", "torchaudio", "nccl", "cuda")


def package_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of the records of packages."""
    file = loaded.value("packages.json")
    codes = {entry.code for entry in loaded.value("codes.json")}
    for kind in file.__struct_fields__:
        for place, record in enumerate(getattr(file, kind)):
            for path, what in _of_record(kind, record, codes):
                yield loaded.problem("packages.json", f"$.{kind}[{place}].{path}", what)
    names = [entry.id for entry in file.faults]
    for place, name in enumerate(names):
        if name in names[:place] or (place and name < names[place - 1]):
            yield loaded.problem("packages.json", f"$.faults[{place}].id", f"{name} is out of order, or twice the same")


def _of_record(kind: str, record: Any, codes: set[str]) -> Iterator[tuple[str, str]]:
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if not isinstance(value, str) or not value:
            continue
        if field in _SERIES or (kind == "companions" and field == "torch"):
            if numbers(value) is None:
                yield field, f"`{value}` is no release"
        elif field in _RANGES and not is_specifier(value):
            yield field, f"`{value}` is no specifier"
        elif field == "code" and value not in codes:
            yield field, f"{value} is not among the codes"
        elif field in ("package", "other", "project") and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value):
            yield field, f"`{value}` is not written as the index writes names"
        elif field in ("capability_from", "capability_to") and compute_capability(value) is None:
            yield field, f"`{value}` is no compute capability"
    for name, text in getattr(record, "beside", {}).items():
        if not is_specifier(text):
            yield f"beside.{name}", f"`{text}` is no specifier"
