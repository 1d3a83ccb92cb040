"""The engine that a release takes with the arguments given: some lead it back to V0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.version import Version

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


def engine_after(matrix: Matrix, version: Version | None, card: Card, serve_args: Mapping[str, Any], engine: str | None) -> str | None:
    """The engine once arguments are settled: V0 where they lead there, else `engine`, which was found without some of them."""
    release = matrix.release(str(version)) if version is not None and engine == "v1" else None
    return "v0" if release is not None and engine_with(matrix, release, card, serve_args) == "v0" else engine
