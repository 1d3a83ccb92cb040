"""Rules on disks: room for wheels, weights and caches, and whether they can be written."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import Disk, known
from envcheck.rules.figures import figure
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation
from envcheck.rules.spread import weights_gib

_CODE = "disk-full"
_LONGEST = 200
# What a bare path is for: a word of it, in the order in which they are tried.
_WORDS = (
    ("huggingface", "model-cache"),
    ("modelscope", "model-cache"),
    ("site-packages", "environment"),
    ("venv", "environment"),
    ("conda", "environment"),
    ("/vllm", "vllm-cache"),
    ("/pip", "wheel-cache"),
    ("/uv", "wheel-cache"),
)
_EVERYTHING = ("/", "~", "/root", "/home", "/workspace")
_VARIABLES = {"model-cache": "HF_HOME", "vllm-cache": "VLLM_CACHE_ROOT", "temporary": "TMPDIR", "wheel-cache": "UV_CACHE_DIR"}


class _Spot(msgspec.Struct, frozen=True):
    """One place: GiB free (None = not known), what it is for, and whether that was told or read off the path."""

    path: str
    free_gib: float | None
    purposes: tuple[str, ...]
    told: bool
    disk: Disk


def space(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Too little room for what will be put there, or none that may be written; each place says what it is for."""
    disks = known(situation.host.disk)
    if not disks:
        return
    spots = [_spot(disk) for disk in disks[:64]]
    yield from _environment(situation, matrix, spots)
    yield from _weights(situation, matrix, spots)
    yield from _caches(matrix, spots)
    yield from _closed(spots)
    if situation.request.model:
        yield from _far(spots)


def _spot(disk: Disk) -> _Spot:
    path = (known(disk.path) or "?")[:_LONGEST]
    free = figure(disk.free_mib)
    told = known(disk.purposes)
    return _Spot(path, None if free is None else free / 1024, tuple(told) if told else _guess(path), bool(told), disk)


def _guess(path: str) -> tuple[str, ...]:
    if path.rstrip("/") in ("", *_EVERYTHING):
        return ("environment", "model-cache")
    if path.startswith("/tmp"):  # noqa: S108 - a name to compare with, not a place to write to
        return ("temporary",)
    lower = path.lower()
    return next(((purpose,) for word, purpose in _WORDS if word in lower), ())


def _for(spots: list[_Spot], purpose: str) -> list[_Spot]:
    return [spot for spot in spots if purpose in spot.purposes]


def _environment(situation: Situation, matrix: Matrix, spots: list[_Spot]) -> Iterator[Finding]:
    """Room for torch, CUDA's libraries and vLLM, where they are not installed yet."""
    if situation.installed is not None:
        return
    needed, least = matrix.thresholds["environment-gib"], matrix.thresholds["environment-least-gib"]
    for spot in _for(spots, "environment"):
        if spot.free_gib is not None and spot.free_gib < needed:
            sure = spot.told and spot.free_gib < least
            ways = (remedy("fresh-environment", "environment-elsewhere", "uv venv /data/vllm"),)
            yield (error if sure else warning)(_CODE, "environment", path=spot.path, remedies=ways, **_figures(spot, needed))
            return


def _figures(spot: _Spot, needed: float) -> dict[str, float]:
    return {"free_gib": round(spot.free_gib or 0.0, 1), "needed_gib": round(needed, 1)}


def _weights(situation: Situation, matrix: Matrix, spots: list[_Spot]) -> Iterator[Finding]:
    """Room for the weights of a model of the hub; they may be there already, so this is no error."""
    request, weights = situation.request, weights_gib(situation, matrix)
    if not weights or not request.model or request.model.startswith(("/", ".", "~")) or request.first_start is False:
        return
    for spot in _for(spots, "model-cache"):
        if spot.free_gib is not None and spot.free_gib < weights:
            ways = _elsewhere("model-cache")
            yield warning(_CODE, "weights", model=request.model[:_LONGEST], path=spot.path, remedies=ways, **_figures(spot, weights))
            return


def _caches(matrix: Matrix, spots: list[_Spot]) -> Iterator[Finding]:
    """Next to nothing left where caches and temporary files are written at every start."""
    least = matrix.thresholds["cache-least-gib"]
    for purpose in ("vllm-cache", "jit-cache", "temporary", "model-cache"):
        for spot in _for(spots, purpose):
            if spot.free_gib is not None and spot.free_gib < least:
                yield warning(_CODE, "cache", path=spot.path, remedies=_elsewhere(purpose), **_figures(spot, least))
                return


def _closed(spots: list[_Spot]) -> Iterator[Finding]:
    """Folders that this user cannot write; a read-only cache that holds the model already is no fault, hence a warning."""
    for spot in spots:
        read_only, writable = spot.disk.read_only is True, spot.disk.writable
        purpose = next((name for name in spot.purposes if name in (*_VARIABLES, "jit-cache")), None)
        if purpose and (read_only or writable is False):
            yield warning(_CODE, "read-only" if read_only else "closed", path=spot.path, remedies=_elsewhere(purpose))
            return


def _far(spots: list[_Spot]) -> Iterator[Finding]:
    """Models on a network file system: right, and slow to load from."""
    for spot in _for(spots, "model-cache"):
        if spot.disk.network is True:
            yield info(_CODE, "network", path=spot.path, file_system=(known(spot.disk.file_system) or "")[:40])
            return


def _elsewhere(purpose: str) -> tuple[Remedy, ...]:
    variable = _VARIABLES.get(purpose, "TRITON_CACHE_DIR")
    return (remedy("setting", "folder-elsewhere", f"export {variable}=/data/{purpose}", variable=variable),)
