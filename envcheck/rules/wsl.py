"""Rules on the Windows Subsystem for Linux."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.make import warning
from envcheck.rules.situation import Situation


def wsl(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Limits of the Windows Subsystem for Linux: NCCL between several GPUs."""
    if situation.wsl and len(situation.usable_gpus) > 1:
        yield warning("wsl-limits", count=len(situation.usable_gpus))
