"""Which part of a model one GPU holds."""

from __future__ import annotations

import msgspec


class Rank(msgspec.Struct, frozen=True):
    """Which part of a model one GPU holds: `ranks` tensor-parallel, `expert_ranks` sharing the experts, `stage` of `stages`.

    `part` = its share of the layers; None = an equal one.
    """

    ranks: int = 1
    expert_ranks: int = 1
    stage: int = 0
    stages: int = 1
    part: float | None = None

    @property
    def share(self) -> float:
        """Share of the layers on this stage."""
        return 1 / self.stages if self.part is None else self.part

    @property
    def is_first(self) -> bool:
        """Whether the embeddings are here."""
        return self.stage == 0

    @property
    def is_last(self) -> bool:
        """Whether the output head is here."""
        return self.stage == self.stages - 1


def stage_layers(count: int, stages: int) -> list[int]:
    """Layers of every pipeline stage: equal parts; what is left over goes to the stages before the last, the last but one first."""
    parts = [count // stages] * stages
    for i in range(count % stages):
        parts[-2 - i] += 1
    return parts
