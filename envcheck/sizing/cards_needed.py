"""What card is needed: the fewest of each card that serve a load, without what costs accuracy or speed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from envcheck.model.relief import COUNTS, CardNeeded, Load, Relief
from envcheck.model.units import gib
from envcheck.sizing.inputs import Card
from envcheck.sizing.pull import keeps_quality
from envcheck.sizing.question import Question, ask
from envcheck.sizing.relief import relieve


def fewest(question: Question, load: Load, counts: Sequence[int] = COUNTS) -> tuple[int, Relief] | None:
    """The smallest number of the question's card that serves the load; None where none of the counts does."""
    for count in counts:
        asked = _on(question, count)
        if count > 1 and not _divides(asked, count):
            continue
        if count > 1 and _too_large(asked, count):
            continue
        found = relieve(asked, load, keeps_quality)
        if found is None:
            return None
        if found.served:
            return count, found
    return None


def cards_needed(question: Question, load: Load, cards: Sequence[tuple[Card, bool]]) -> Iterator[CardNeeded]:
    """Of each card (with whether it is a variant for mainland China) the fewest that serve the load, in the order given."""
    for card, mainland in cards:
        here = ask(msgspec.structs.replace(question.inputs, card=card), question.table, question.dims)
        found = fewest(here, load)
        if found and here.total is not None:
            yield CardNeeded(card.name, found[0], round(gib(here.total), 1), mainland, found[1])


def _on(question: Question, count: int) -> Question:
    card = msgspec.structs.replace(question.inputs.card, count=count)
    return ask(msgspec.structs.replace(question.inputs, card=card), question.table, question.dims)


def _divides(question: Question, count: int) -> bool:
    """Whether tensor parallelism over so many cards would be tried; where a size was asked for, whether it needs them all."""
    if "tensor_parallel_size" in question.inputs.serve_args:
        return question.settings.gpus <= count
    return question.dims.heads % count == 0


def _too_large(question: Question, count: int) -> bool:
    """Whether the weights alone are too large, so that nothing else need be tried."""
    spread = question if "tensor_parallel_size" in question.inputs.serve_args else question.with_args(tensor_parallel_size=count)
    weights = spread.weights(spread.stages[0])
    return weights is not None and question.total is not None and weights > question.total
