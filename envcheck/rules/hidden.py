"""Rule on variables that hide GPUs from CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation, text
from envcheck.rules.visible import CONTAINER, CUDA, Visible, visible

_NONE = frozenset({"", "-1", "none", "void", "nodevfiles"})


def hidden(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES, or a container's NVIDIA_VISIBLE_DEVICES, leaves no GPU, not all, or names one that is not there."""
    host = situation.host
    asked = (known(host.environment) or {}).get(CUDA)
    if asked is None and not known(host.container):
        return
    listed = known(host.gpus)
    if asked is not None and asked.strip().lower() in _NONE:
        if listed or situation.gpus_known is False:  # without a GPU there is nothing to hide
            yield error("gpu-hidden", "all", variable=CUDA, value=asked.strip()[:60] or '""', remedies=(_unset(CUDA),))
        return
    if not listed or situation.other_makers:
        return
    seen = visible(host)
    if seen.by == CONTAINER and text(host.driver, "nvml") == "ok":
        return  # what NVML lists inside the container was let in, whatever the variable says
    if seen.by is not None or seen.unknown_entries:
        yield from _less(seen, len(listed), sum(not known(gpu.error) for gpu in listed), asked)


def _less(seen: Visible, total: int, sound: int, asked: str | None) -> Iterator[Finding]:
    variable = seen.by or CUDA
    entries = ", ".join(seen.unknown_entries[:4])
    if not seen.order:
        if sound and seen.certain:
            value = asked if asked is not None and variable == CUDA else entries
            yield error("gpu-hidden", "all", variable=variable, value=(value or '""')[:200], remedies=(_unset(variable),))
    elif seen.unknown_entries and seen.certain:
        yield warning("gpu-hidden", "entries", variable=variable, entries=entries, shown=len(seen.order), remedies=(_unset(variable),))
    elif len(seen.order) < sound:
        yield info("gpu-hidden", "some", variable=variable, shown=len(seen.order), total=total)


def _unset(variable: str) -> Remedy:
    if variable == CUDA:
        return remedy("setting", "unset-visible", f"unset {CUDA}")
    return remedy("container", "container-devices", f"-e {variable}=all")
