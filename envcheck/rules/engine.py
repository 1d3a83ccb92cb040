"""Which engine a release runs on these GPUs, and what VLLM_USE_V1 does to that."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.rules.make import error, info, warning
from envcheck.rules.situation import Situation


class EngineChoice(msgspec.Struct, frozen=True):
    """`engine` v0 or v1, None = neither runs or not known; `fallback` = V0 is taken because V1 does not serve the GPU."""

    engine: str | None
    fallback: bool
    refused: ComputeCapability | None
    needed: ComputeCapability | None


def choose_engine(matrix: Matrix, release: Release, capabilities: tuple[ComputeCapability, ...], wanted: str | None) -> EngineChoice:
    """The engine of a release on GPUs; `wanted` = the value of VLLM_USE_V1 where it selects."""
    entry = matrix.engine(release)
    if entry is None:
        return EngineChoice(None, False, None, None)
    floor = compute_capability(entry.v1_min_capability or "")
    below = next((capability for capability in capabilities if floor and capability < floor), None)
    if entry.switch == "selects" and wanted in ("0", "1"):
        chosen = "v1" if wanted == "1" else "v0"
        refused = below if chosen == "v1" else None
        return EngineChoice(chosen, False, refused, floor if refused else None)
    if entry.default == "v1" and below is not None:
        return EngineChoice("v0", True, None, None) if "v0" in entry.available else EngineChoice("v1", False, below, floor)
    return EngineChoice(entry.default, False, None, None)


def switch_of(situation: Situation) -> str | None:
    """VLLM_USE_V1 as the host or the request sets it."""
    engine = situation.request.engine
    if engine and engine.lower() in ("v0", "v1"):
        return "1" if engine.lower() == "v1" else "0"
    return (known(situation.host.environment) or {}).get("VLLM_USE_V1")


def engine_findings(situation: Situation, matrix: Matrix, release: Release, choice: EngineChoice) -> Iterator[Finding]:
    """GPUs that V1 refuses, and a VLLM_USE_V1 that does nothing or fails."""
    entry, wanted = matrix.engine(release), (known(situation.host.environment) or {}).get("VLLM_USE_V1")
    if choice.refused:
        yield error("v1-unsupported-gpu", vllm=release.raw, capability=str(choice.refused), needed=str(choice.needed))
    elif choice.fallback:
        yield info("v1-unsupported-gpu", "fallback", vllm=release.raw, capability=str(situation.capabilities[0]))
    if entry is None or wanted is None:
        return
    if entry.switch == "zero-fails" and wanted == "0":
        yield error("engine-choice-ignored", "fails", vllm=release.raw, value=wanted)
    elif entry.switch in ("ignored", "warns", "absent") and wanted != ("1" if entry.default == "v1" else "0"):
        yield warning("engine-choice-ignored", vllm=release.raw, value=wanted[:20], engine=entry.default.upper())
