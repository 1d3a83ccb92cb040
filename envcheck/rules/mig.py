"""Rules on MIG: boards cut into slices, how a slice is named, and how much memory it has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.model.memoryfacts import Tier
from envcheck.model.text import Param
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.places import wheres
from envcheck.rules.situation import GpuFact, Situation
from envcheck.rules.spread import in_range, release_of

_PROFILE = r"(?i)\b(\d{1,2})g\.(\d{1,4})gb"


def mig(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Boards in MIG mode without a slice, identifiers that a release cannot parse, and a slice's memory."""
    usable = situation.usable_gpus
    chosen = (known(situation.host.environment) or {}).get("CUDA_VISIBLE_DEVICES", "").strip()
    by_id = chosen.startswith(("MIG-", "GPU-"))
    if not (by_id or any(gpu.mig or gpu.told.mig_pending is True for gpu in usable)):
        return
    uncut = [gpu for gpu in usable if gpu.told.mig is True and (known(gpu.told.uuid) or "").startswith("GPU-")]
    slices = [gpu for gpu in usable if gpu.mig and gpu not in uncut]
    if uncut:
        make = error if len(uncut) == len(usable) else warning
        yield make(
            "device-not-detected",
            "mig",
            gpus=wheres(uncut),
            remedies=(remedy("setting", "mig-slices", "sudo nvidia-smi mig -lgip", root=True),),
        )
    pending = [gpu for gpu in usable if gpu.told.mig_pending is True]
    if pending:
        yield info("mig-device-selection", "pending", gpus=wheres(pending))
    # Where nothing is chosen, it is the container or scheduler that hands slices in, by identifier.
    if by_id or (slices and not chosen):
        yield from _selection(situation, matrix, next(iter((*slices, *usable)), None))
    if slices:
        yield _memory(situation, matrix, slices)


def _selection(situation: Situation, matrix: Matrix, gpu: GpuFact | None) -> Iterator[Finding]:
    """Releases that pass an identifier, of a slice or of a whole GPU, to int()."""
    release = situation.installed.release if situation.installed else release_of(situation, matrix)
    if release and matrix.traits.shown_by("device-uuid-not-parsed", release.version):
        raw = situation.installed_raw[:60] if situation.installed else release.raw
        name = gpu.name if gpu else "GPU"
        yield warning("mig-device-selection", name=name, vllm=raw, remedies=(remedy("setting", "slice-by-index"),))


def _memory(situation: Situation, matrix: Matrix, slices: list[GpuFact]) -> Finding:
    """A slice's memory, where it is small, reported as the board's, or below what the release's defaults go by."""
    gpu, limits = slices[0], matrix.thresholds
    found = re.search(_PROFILE, gpu.name) or re.search(_PROFILE, str(known(gpu.told.mig) or ""))
    slice_gib = float(found[2]) if found else (gpu.memory_mib or 0) / 1024
    board_gib = (gpu.model.memory_mib or 0) / 1024 if gpu.model else 0.0
    params: dict[str, Param] = {"name": gpu.name, "slice_gib": round(slice_gib, 1), "board_gib": round(board_gib, 1)}
    told_gib = (gpu.memory_mib or 0) / 1024
    if found and told_gib > slice_gib * limits["mig-memory-of-board-ratio"]:
        return warning("mig-memory", "board", told_gib=round(told_gib, 1), remedies=(remedy("setting", "slice-memory"),), **params)
    sequences = _sequences(situation, matrix, gpu.name, board_gib, slice_gib)
    if sequences and 0 < slice_gib * limits["mig-defaults-ratio"] <= board_gib:
        ways = (remedy("setting", "slice-sequences", sequences=min(sequences)),)
        return warning("mig-memory", "defaults", sequences=max(sequences), remedies=ways, **params)
    if 0 < slice_gib < limits["mig-slice-small-gib"]:
        return warning("mig-memory", "small", remedies=(remedy("setting", "larger-slice"),), **params)
    return info("mig-memory", name=gpu.name)


def _sequences(situation: Situation, matrix: Matrix, name: str, board_gib: float, slice_gib: float) -> tuple[int, int] | None:
    """Default sequences at once by the board's memory and by the slice's, where they differ: NVML tells vLLM the board's."""
    release = release_of(situation, matrix) or matrix.releases[0]
    for defaults in matrix.memory.defaults:
        if defaults.engine == "v1" and in_range(release, defaults.releases):
            by_board, by_slice = (_tier(defaults.max_num_seqs, name, gib) for gib in (board_gib, slice_gib))
            return (by_board, by_slice) if by_board and by_slice and by_board != by_slice else None
    return None


def _tier(tiers: list[Tier], name: str, gib: float) -> int | None:
    lower = name.lower()
    fitting = (
        tier.value
        for tier in tiers
        if gib >= tier.at_least_gib and all(word in lower for word in tier.named) and not any(word in lower for word in tier.not_named)
    )
    return next(fitting, None)
