"""Which engine and model runner serve the planned arguments, where that is not what the release does for any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release, specifier
from envcheck.matrix.v1_gaps import V1Gap
from envcheck.model.modelspec import ModelSpec
from envcheck.model.text import Text
from envcheck.model.versions import ComputeCapability
from envcheck.rules.engine import switch_of
from envcheck.rules.situation import Situation

_SHOWN = 40  # characters of a value


def engine_notes(situation: Situation, matrix: Matrix, release: Release, spec: ModelSpec, arguments: Mapping[str, Any]) -> Iterator[Text]:
    """Arguments that take a release with both engines back to V0, or that VLLM_USE_V1=1 makes it refuse; the model runner."""
    entry, wanted = matrix.engine(release), switch_of(situation)
    if entry is not None and "v0" in entry.available and entry.default == "v1" and wanted != "0":
        for gap in gaps(matrix, release, arguments, situation.capabilities):
            flag = "--" + gap.argument.replace("_", "-")
            told = {"flag": flag, "value": str(arguments[gap.argument])[:_SHOWN], "vllm": release.raw}
            yield Text("serve.note.engine-refuses" if wanted == "1" else "serve.note.engine-falls-back", told)
    yield from _runner(matrix, release, spec)


def gaps(matrix: Matrix, release: Release, arguments: Mapping[str, Any], capabilities: tuple[ComputeCapability, ...]) -> list[V1Gap]:
    """What V1 lacks of the arguments in a release."""
    return [
        gap
        for gap in matrix.v1_gaps
        if gap.argument in arguments
        and specifier(gap.releases).contains(release.version, prereleases=True)
        and arguments[gap.argument] not in (None, False)
        and str(arguments[gap.argument]).lower() not in gap.unless
        and not (gap.served_by and capabilities and all(str(one.major) == gap.served_by for one in capabilities))
    ]


def _runner(matrix: Matrix, release: Release, spec: ModelSpec) -> Iterator[Text]:
    """Releases that choose the model runner by model: named where it is the newer one, with the variable that takes the older."""
    from envcheck.sizing.inputs import Card, SizingInputs  # noqa: PLC0415  # the memory model is here already where a model is
    from envcheck.sizing.question import ask  # noqa: PLC0415
    from envcheck.sizing.release import MemoryTable  # noqa: PLC0415

    table = MemoryTable(matrix.memory, matrix.capability_trait("bfloat16-min-capability"))
    rules = table.rules(release.version, "v1")
    if rules.v2_runner is None or rules.v2_runner.everything or not rules.v2_runner.variable:
        return
    question = ask(SizingInputs(config=spec.config, card=Card(name=""), release=release.version), table)
    if question.runner == "v2":
        yield Text("serve.note.runner", {"vllm": release.raw, "variable": rules.v2_runner.variable})
