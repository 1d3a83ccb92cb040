"""The engine that a release takes with the arguments given: some lead it back to V0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.memoryfacts import Engine
from envcheck.planning.effective import engine_of
from envcheck.sizing.inputs import Card


def kept_on_v0(matrix: Matrix, release: Release, card: Card, serve_args: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments given, by full name, for which a release takes V0. Source: `v0_arguments.json`."""
    found = (
        "--" + record.argument.replace("_", "-")
        for record in matrix.v0_arguments
        if record.argument in serve_args and record.holds(release.version, card.capability, serve_args[record.argument])
    )
    return tuple(dict.fromkeys(found))


def engine_with(matrix: Matrix, release: Release, card: Card, serve_args: Mapping[str, Any]) -> Engine:
    """The engine of a release on a card with these arguments."""
    return "v0" if kept_on_v0(matrix, release, card, serve_args) else engine_of(matrix, release, card)
