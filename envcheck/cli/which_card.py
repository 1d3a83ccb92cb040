"""The cards that come into question for a model: those of data centers and the common ones of desktops, each sort once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envcheck.cli.cards import shown_mib
from envcheck.model.finding import Severity

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.matrix.records import GpuModel
    from envcheck.matrix.release import Release
    from envcheck.model.request import Request
    from envcheck.sizing.inputs import Card
    from envcheck.sizing.request import Sizer

_KINDS = ("data-center", "consumer")
_LEAST_MIB = 15_000  # smaller ones are no cards that anybody takes for serving
_SORT = re.compile(r"(?:NVIDIA|Tesla)\s+(?:GeForce\s+)?((?:RTX|GTX|TITAN)\b.*|[A-Z]{1,3}\d+[A-Za-z]*(?:-3e)?)")


def candidates(matrix: Matrix, sizer: Sizer, request: Request, release: Release) -> list[tuple[Card, bool]]:
    """Cards that the release has code for, the smallest first, each with whether it is a variant for mainland China."""
    runs: dict[str, bool] = {}
    found: dict[tuple[str, int], tuple[Card, bool]] = {}
    for model in sorted(matrix.gpus, key=lambda gpu: (gpu.memory_mib is None, len(gpu.name))):
        memory = shown_mib(model)
        if model.kind not in _KINDS or memory is None or memory < _LEAST_MIB or model.unified_memory:
            continue
        # Of a card that nobody measured, only the variants for mainland China are common enough to be named.
        if model.memory_mib is None and not model.mainland_variant:
            continue
        capability = model.compute_capability
        if capability not in runs:
            runs[capability] = _runs(matrix, model, request, release)
        sort = _SORT.match(model.name)
        key = (sort[1] if sort else model.name, round(memory / 8192))
        if runs[capability] and key not in found:
            found[key] = (_card(sizer, model, memory), model.mainland_variant)
    return sorted(found.values(), key=lambda entry: (entry[0].nvml_bytes or 0, entry[0].name))


def _card(sizer: Sizer, model: GpuModel, memory: int) -> Card:
    from envcheck.model.host import Gpu, HostReport

    told = Gpu(index=0, name=model.name, compute_capability=model.compute_capability, memory_mib=float(memory))
    return sizer.card(HostReport(gpus=[told]))


def _runs(matrix: Matrix, model: GpuModel, request: Request, release: Release) -> bool:
    """Whether nothing that is known of the card alone speaks against it."""
    import msgspec

    from envcheck.model.host import Gpu, HostReport
    from envcheck.rules.check import judge

    host = HostReport(gpus=[Gpu(index=0, name=model.name, compute_capability=model.compute_capability)])
    asked = msgspec.structs.replace(request, vllm=release.raw, serve_args={})
    return not any(finding.severity is Severity.ERROR for finding in judge(host, matrix, asked, remedies=False).findings)
