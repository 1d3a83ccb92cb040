"""The JSON of `envcheck size`: the memory budget, and what was found around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from envcheck.model.modelspec import ModelSpec
from envcheck.model.relief import CardNeeded, Load, Relief, ReliefStep
from envcheck.render.catalogue import Catalogue
from envcheck.render.claims import ClaimOut
from envcheck.render.jsonmodel import FindingOut, SizeOut
from envcheck.render.jsonout import findings_out
from envcheck.render.size_parts import Around, HostMemory, LibraryBatch, SecondStart, VariantOut

CARDS_SCHEMA = "envcheck.size-cards/1"


class ModelOut(msgspec.Struct, frozen=True):
    """Where a model's facts were read; `basis` = what the configuration rests on, `unverified` = nobody read the published file."""

    name: str
    kind: str
    place: str
    basis: str | None
    weights_basis: str | None


class StepOut(msgspec.Struct, frozen=True):
    """One lever: GiB that it frees on a GPU, and the state once it and those before are set."""

    lever: str
    argument: str
    value: Any
    frees_gib: float
    kv_gib: float
    tokens: int
    requests: float
    missing_gib: float
    why: str


class ReliefOut(msgspec.Struct, frozen=True):
    """How the load is served; `requests` of its context held at once with `serve_args`."""

    asked_for: bool
    served: bool
    requests: float
    missing_gib: float
    steps: list[StepOut]
    serve_args: dict[str, Any]
    why: list[str]
    requests_interval: tuple[float, float] | None = None


class CardOut(msgspec.Struct, frozen=True):
    """So many of a card serve the load with these arguments; `memory_gib` of one, as CUDA reports it."""

    name: str
    count: int
    memory_gib: float
    mainland_variant: bool
    requests: float
    serve_args: dict[str, Any]


class SizeCommandOut(SizeOut, frozen=True):
    """The answer of `envcheck size`; `cards` = how many more of the same card would serve it, `claims` = advice that does nothing here.

    `second_start` = what the KV cache has more of once compiled code is cached; `llm_class` = batches of that class beside the server's.
    """

    vllm: str | None = None
    model: ModelOut | None = None
    load: Load | None = None
    relief: ReliefOut | None = None
    findings: list[FindingOut] = []
    variants: list[VariantOut] = []
    cards: list[CardOut] = []
    claims: list[ClaimOut] = []
    media: list[StepOut] = []
    processes: list[str] = []
    second_start: SecondStart | None = None
    llm_class: LibraryBatch | None = None
    host_memory: HostMemory | None = None
    steps: list[StepOut] = []


class CardsOut(msgspec.Struct, frozen=True):
    """The answer of `envcheck size --which-card`: cards that serve the load, the fewest and smallest first."""

    schema: str
    vllm: str
    model: ModelOut
    load: Load
    cards: list[CardOut]


def size_command_out(size: SizeOut, around: Around, catalogue: Catalogue) -> SizeCommandOut:
    """The budget with what stands around it."""
    told = {name: getattr(size, name) for name in SizeOut.__struct_fields__}
    return SizeCommandOut(
        **told,
        vllm=around.vllm,
        model=model_out(around.model) if around.model else None,
        load=around.relief.load if around.relief else None,
        relief=_relief(around.relief, catalogue) if around.relief else None,
        findings=findings_out(around.findings, catalogue),
        variants=list(around.variants),
        cards=[card_out(card) for card in around.cards],
        claims=list(around.claims),
        media=[_step(step, catalogue) for step in around.media],
        processes=list(around.processes),
        second_start=around.second,
        llm_class=around.library,
        host_memory=around.host,
        steps=[_step(step, catalogue) for step in around.steps],
    )


def cards_out(model: ModelSpec, vllm: str, load: Load, cards: Sequence[CardNeeded]) -> CardsOut:
    """Cards that serve a load."""
    return CardsOut(CARDS_SCHEMA, vllm, model_out(model), load, [card_out(card) for card in cards])


def model_out(model: ModelSpec) -> ModelOut:
    """Where a model's facts were read."""
    return ModelOut(model.name, model.source.kind, model.source.place, model.source.basis, model.weights_basis)


def card_out(card: CardNeeded) -> CardOut:
    """A card that serves a load."""
    return CardOut(card.name, card.count, card.memory_gib, card.mainland, card.relief.requests, card.relief.serve_args)


def _relief(relief: Relief, catalogue: Catalogue) -> ReliefOut:
    why = [catalogue.text(text) for text in relief.why]
    steps = [_step(step, catalogue) for step in relief.steps]
    return ReliefOut(
        relief.asked_for, relief.served, relief.requests, relief.missing_gib, steps, relief.serve_args, why, relief.requests_interval
    )


def _step(step: ReliefStep, catalogue: Catalogue) -> StepOut:
    state = (step.frees_gib, step.kv_gib, step.tokens, step.requests, step.missing_gib)
    return StepOut(step.lever, step.argument, step.value, *state, catalogue.text(step.why))
