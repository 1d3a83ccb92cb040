"""Which engine a release runs on these GPUs, and what VLLM_USE_V1 does to that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.matrix.v0_arguments import V0Argument

_SHOWN = 40  # characters of a value


class EngineChoice(msgspec.Struct, frozen=True):
    """`engine` v0 or v1, None = neither runs or not known; `fallback` = V0 is taken because V1 does not serve the GPU.

    `kept` = the arguments for which V0 is taken, `clash` = those that V1, which is asked for, refuses.
    """

    engine: str | None
    fallback: bool
    refused: ComputeCapability | None
    needed: ComputeCapability | None
    kept: tuple[V0Argument, ...] = ()
    clash: tuple[V0Argument, ...] = ()


def engine_for(situation: Situation, matrix: Matrix, release: Release, arguments: Mapping[str, Any] | None = None) -> EngineChoice:
    """The engine of a release for what is asked: GPUs, VLLM_USE_V1 and the arguments; `arguments` None = the request's."""
    given = situation.request.serve_args if arguments is None else arguments
    return choose_engine(matrix, release, situation.capabilities, switch_of(situation), given)


def choose_engine(
    matrix: Matrix, release: Release, capabilities: tuple[ComputeCapability, ...], wanted: str | None, arguments: Mapping[str, Any] = {}
) -> EngineChoice:
    """The engine of a release on GPUs; `wanted` = the value of VLLM_USE_V1 where it selects, `arguments` in snake case."""
    choice = _of_gpus(matrix, release, capabilities, wanted)
    if not arguments or choice.engine != "v1":
        return choice
    kept = kept_on_v0(matrix, release, capabilities, arguments)
    if not kept:
        return choice
    if wanted == "1":
        clash = tuple(one for one in kept if not one.opted(arguments[one.argument]))
        return msgspec.structs.replace(choice, clash=clash)
    return msgspec.structs.replace(choice, engine="v0", kept=kept)


def kept_on_v0(
    matrix: Matrix, release: Release, capabilities: tuple[ComputeCapability, ...], arguments: Mapping[str, Any]
) -> tuple[V0Argument, ...]:
    """The arguments given for which a release takes V0; of several GPUs, one suffices. Source: `v0_arguments.json`."""
    entry = matrix.engine(release)
    if entry is None or "v0" not in entry.available or entry.default != "v1":
        return ()
    found = {
        record.argument: record
        for record in matrix.v0_arguments
        if record.argument in arguments
        and any(record.holds(release.version, capability, arguments) for capability in capabilities or (None,))
    }
    return tuple(found.values())


def _of_gpus(matrix: Matrix, release: Release, capabilities: tuple[ComputeCapability, ...], wanted: str | None) -> EngineChoice:
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
    for one in choice.clash:
        flag, value = "--" + one.argument.replace("_", "-"), str(situation.request.serve_args.get(one.argument))[:_SHOWN]
        ways = (remedy("setting", "engine-unset"), remedy("setting", "flag-drop", flag=flag))
        yield error("engine-choice-ignored", "refuses", vllm=release.raw, flag=flag, value=value, remedies=ways)
    if entry is None or wanted is None:
        return
    if entry.switch == "zero-fails" and wanted == "0":
        yield error("engine-choice-ignored", "fails", vllm=release.raw, value=wanted)
    elif entry.switch in ("ignored", "warns", "absent") and wanted != ("1" if entry.default == "v1" else "0"):
        yield warning("engine-choice-ignored", vllm=release.raw, value=wanted[:20], engine=entry.default.upper())
