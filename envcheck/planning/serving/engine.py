"""Which engine and model runner serve the planned arguments, where that is not what the release does for any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.modelspec import ModelSpec
from envcheck.model.text import Text
from envcheck.rules.engine import engine_for
from envcheck.rules.situation import Situation

_SHOWN = 40  # characters of a value


def engine_notes(situation: Situation, matrix: Matrix, release: Release, spec: ModelSpec, arguments: Mapping[str, Any]) -> Iterator[Text]:
    """Arguments that take a release with both engines back to V0, or that VLLM_USE_V1=1 makes it refuse; the model runner."""
    choice = engine_for(situation, matrix, release, arguments)
    for key, records in (("engine-falls-back", choice.kept), ("engine-refuses", choice.clash)):
        for one in records:
            told = {"flag": "--" + one.argument.replace("_", "-"), "value": str(arguments[one.argument])[:_SHOWN], "vllm": release.raw}
            yield Text(f"serve.note.{key}", told)
    yield from _runner(matrix, release, spec)


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
