"""The engine that a release takes with the arguments given: some lead it back to V0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.memoryfacts import Engine
from envcheck.rules.engine import choose_engine
from envcheck.rules.engine import kept_on_v0 as records
from envcheck.sizing.inputs import Card


def kept_on_v0(matrix: Matrix, release: Release, card: Card, serve_args: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments given, by full name, for which a release takes V0. Source: `v0_arguments.json`."""
    capabilities = (card.capability,) if card.capability else ()
    return tuple("--" + record.argument.replace("_", "-") for record in records(matrix, release, capabilities, serve_args))


def engine_with(matrix: Matrix, release: Release, card: Card, serve_args: Mapping[str, Any]) -> Engine:
    """The engine of a release on a card with these arguments."""
    capabilities = (card.capability,) if card.capability else ()
    return "v0" if choose_engine(matrix, release, capabilities, None, serve_args).engine == "v0" else "v1"
