"""The memory model wired to the matrix and to the places a model's configuration comes from."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from envcheck.model.budget import SizeResult
from envcheck.model.host import HostReport, known
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request
from envcheck.model.text import Text

if TYPE_CHECKING:
    from packaging.version import Version

    from envcheck.matrix.load import Matrix
    from envcheck.matrix.release import Release
    from envcheck.model.plan import Plan
    from envcheck.model.ways import Way
    from envcheck.rules.check import Judgement
    from envcheck.sizing.request import Sizer


@lru_cache(maxsize=4)
def sizer_of(matrix: Matrix) -> Sizer:
    """The memory model over the matrix's facts, its records parsed once."""
    from envcheck.sizing.request import Sizer

    return Sizer(matrix.memory, matrix.gpu, matrix.capability_trait("bfloat16-min-capability"))


def size(
    host: HostReport,
    matrix: Matrix,
    request: Request,
    spec: ModelSpec | None,
    release: Version | None,
    engine: str | None,
    *,
    explain: bool = False,
) -> SizeResult:
    """The memory budget of a request on a host; `explain` = with how each figure is arrived at."""
    return sizer_of(matrix).size_request(seen(host), request, spec, release, engine, explain=explain)


def seen(host: HostReport) -> HostReport:
    """The host with the GPUs that a server started in its environment sees, cuda:0 first; as it is where none is or all are."""
    from envcheck.rules.visible import visible

    gpus = known(host.gpus)
    if not gpus or (len(gpus) == 1 and not host.environment):
        return host
    order = visible(host).order
    return msgspec.structs.replace(host, gpus=[gpus[place] for place in order]) if order and len(order) < len(gpus) else host


def size_as_planned(
    host: HostReport, matrix: Matrix, request: Request, spec: ModelSpec | None, release: Version | None, engine: str | None
) -> SizeResult:
    """The memory budget with the settings that a plan serves with.

    A model that does not fit with vLLM's own defaults, or by a close call only, is sized anew with what is suggested. One that was asked
    for with an argument that does not fit stays what it is: it does not fit as asked for.
    """
    asked = size(host, matrix, request, spec, release, engine)
    arguments = {**request.serve_args, **asked.suggested.serve_args}
    overruled = any(arguments[name] != value for name, value in request.serve_args.items())
    if asked.verdict not in ("does-not-fit", "tight") or not asked.suggested.serve_args or overruled:
        return asked
    from envcheck.planning.fallback import engine_after

    engine = engine_after(matrix, release, sizer_of(matrix).card(seen(host)), arguments, engine)  # a setting may lead back to V0
    planned = size(host, matrix, msgspec.structs.replace(request, serve_args=arguments), spec, release, engine)
    # The reasons are those found on the way: to the second question every argument is one "as asked for".
    return msgspec.structs.replace(planned, suggested=asked.suggested)


def with_model_ways(plan: Plan, judgement: Judgement, matrix: Matrix, request: Request, spec: ModelSpec, planned: str | None) -> Plan:
    """The plan with the ways to serve its model, where it does not fit or is not taken; `planned` = the release that the plan leads to."""
    release = matrix.release(planned) if planned else judgement.release
    if release is None:
        return plan
    ways = planned_ways(judgement, matrix, request, spec, release, plan.size)
    return msgspec.structs.replace(plan, model_ways=ways) if ways else plan


def planned_ways(
    judgement: Judgement, matrix: Matrix, request: Request, spec: ModelSpec, release: Release, result: SizeResult | None
) -> tuple[Way, ...]:
    """The ways to serve a model on a release, `result` = its size as planned; none where it is served as asked for."""
    from envcheck.planning.ways.models import Question, model_ways

    def sized(host: HostReport, asked: Request, model: ModelSpec, on: Release, engine: str | None) -> SizeResult:
        return size_as_planned(host, matrix, asked, model, on.version, engine)

    return model_ways(Question(judgement, matrix, request, spec, release, sized), result)


def known_spec(request: Request, matrix: Matrix) -> ModelSpec | None:
    """The model of a request without looking anywhere: its own configuration, else the matrix's; None where neither has it."""
    if request.model_config is not None:
        return ModelSpec(request.model or "", request.model_config, ModelSource("request", "model_config"))
    card = matrix.model(request.model) if request.model else None
    if card is None:
        return None
    return ModelSpec(card.id, card.config, ModelSource("catalogue", card.id, card.config_basis), card.weights_bytes)


def model_notes(spec: ModelSpec) -> list[Text]:
    """What was not read of a model, or not read today, for the user to know beside the answer."""
    notes = [Text("note.model-unread", {"place": place}) for place in spec.unread]
    if spec.source.cached_s is not None:
        notes.append(Text("note.model-kept", {"name": spec.name, "days": spec.source.cached_s // 86_400}))
    return notes
