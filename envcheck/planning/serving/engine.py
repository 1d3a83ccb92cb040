"""Which engine and model runner serve the planned arguments, why, and what VLLM_USE_V1 does to that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release, specifier
from envcheck.model.modelspec import ModelSpec
from envcheck.model.plan import EngineUse
from envcheck.model.text import Text
from envcheck.model.versions import compute_capability
from envcheck.rules.engine import EngineChoice, choose_engine, engine_for, switch_of
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.sizing.release import MemoryTable, Rules

_SHOWN = 40  # characters of a value


def engine_notes(situation: Situation, matrix: Matrix, release: Release, spec: ModelSpec, arguments: Mapping[str, Any]) -> Iterator[Text]:
    """Arguments that take a release with both engines back to V0, or that VLLM_USE_V1=1 makes it refuse; the model runner."""
    choice = engine_for(situation, matrix, release, arguments)
    for key, records in (("engine-falls-back", choice.kept), ("engine-refuses", choice.clash)):
        for one in records:
            told = {"flag": "--" + one.argument.replace("_", "-"), "value": str(arguments[one.argument])[:_SHOWN], "vllm": release.raw}
            yield Text(f"serve.note.{key}", told)
    yield from _runner(matrix, release, spec)
    yield from _spots(situation, matrix, release, choice.engine)


def _spots(situation: Situation, matrix: Matrix, release: Release, engine: str | None) -> Iterator[Text]:
    """What is to be known of serving so on this release. Source: `serve_spots.json`."""
    from envcheck.rules.planned import Planned  # noqa: PLC0415  # only where a model is served
    from envcheck.rules.regressions import meets  # noqa: PLC0415  # the same

    planned = Planned(situation, matrix, engine)
    for spot in matrix.serve_spots:
        if specifier(spot.releases).contains(release.version, prereleases=True) and meets(spot.condition, planned, matrix):
            yield Text(f"serve.note.spot-{spot.id}", {"vllm": release.raw})


def engine_use(
    situation: Situation, matrix: Matrix, release: Release, spec: ModelSpec | None, arguments: Mapping[str, Any]
) -> EngineUse | None:
    """The engine and the runner of a release for what is planned; None where neither is known to run here. Source: `engines.json`."""
    choice, entry = engine_for(situation, matrix, release, arguments), matrix.engine(release)
    if entry is None or choice.engine is None:
        return None
    if switch_of(situation) == "0" and entry.switch == "selects":
        # What takes V0 without the variable is why, not the variable.
        by_itself = choose_engine(matrix, release, situation.capabilities, None, arguments)
        choice = by_itself if by_itself.engine == "v0" else choice
    why, told = _why(situation, matrix, release, choice)
    runner = _runner_of(matrix, release, spec) if spec and choice.engine == "v1" else None
    return EngineUse("v0" if choice.engine == "v0" else "v1", runner, entry.switch, why, told)


def _why(situation: Situation, matrix: Matrix, release: Release, choice: EngineChoice) -> tuple[Text, bool]:
    """Why it is this engine, and whether that is news: not where nothing could be otherwise, nor where a note or a finding says it."""
    entry, wanted = matrix.engine(release), switch_of(situation)
    params: dict[str, str] = {"vllm": release.raw, "engine": (choice.engine or "").upper()}
    if entry is None or entry.switch == "absent":
        return Text("plan.engine.only", params), False
    if entry.switch != "selects":
        return Text(f"plan.engine.only-{entry.switch}", params), False
    if choice.kept:
        return Text("plan.engine.kept", {**params, "flags": ", ".join("--" + one.argument.replace("_", "-") for one in choice.kept)}), False
    if choice.fallback:
        below, floor = str(min(situation.capabilities)), entry.v1_min_capability or ""
        first = _first_served(matrix, situation)
        key = "plan.engine.gpu" if first else "plan.engine.gpu-never"
        return Text(key, {**params, "capability": below, "needed": floor, "first": first or ""}), True
    if wanted in ("0", "1"):
        if choice.engine == entry.default:
            return Text("plan.engine.default-selects", params), False
        return Text("plan.engine.asked-v0" if wanted == "0" else "plan.engine.asked-v1", {**params, "last": _last_v0(matrix)}), True
    return Text("plan.engine.default-early" if entry.default == "v0" else "plan.engine.default-selects", params), False


def _first_served(matrix: Matrix, situation: Situation) -> str | None:
    """The first release whose V1 serves the GPUs."""
    lowest = min(situation.capabilities)
    for release in reversed(matrix.releases):
        entry = matrix.engine(release)
        floor = compute_capability(entry.v1_min_capability or "") if entry and entry.default == "v1" else None
        if floor is not None and lowest >= floor:
            return release.raw
    return None


def _last_v0(matrix: Matrix) -> str:
    return next((one.raw for one in matrix.releases if (entry := matrix.engine(one)) and "v0" in entry.available), "")


def _runner(matrix: Matrix, release: Release, spec: ModelSpec) -> Iterator[Text]:
    """Releases that choose the model runner by model: named where it is the newer one, with the variable that takes the older."""
    record = _rules(matrix, release).v2_runner
    if record is None or record.everything or not record.variable or not (record.dense or record.architectures):
        return
    if _runner_of(matrix, release, spec) == "v2":
        yield Text("serve.note.runner", {"vllm": release.raw, "variable": record.variable})


def _runner_of(matrix: Matrix, release: Release, spec: ModelSpec) -> str:
    from envcheck.sizing.inputs import Card, SizingInputs  # noqa: PLC0415  # the memory model is here already where a model is
    from envcheck.sizing.question import ask  # noqa: PLC0415

    return ask(SizingInputs(config=spec.config, card=Card(name=""), release=release.version), _table(matrix)).runner


def _rules(matrix: Matrix, release: Release) -> Rules:
    return _table(matrix).rules(release.version, "v1")


def _table(matrix: Matrix) -> MemoryTable:
    from envcheck.sizing.release import MemoryTable  # noqa: PLC0415  # the same

    return MemoryTable(matrix.memory, matrix.capability_trait("bfloat16-min-capability"))
