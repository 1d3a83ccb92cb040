"""The order of ways: wishes kept before wishes broken, the less intrusive first, the proved first, then what is lost, then newer."""

from __future__ import annotations

from collections.abc import Iterable

from envcheck.matrix.load import Matrix
from envcheck.model.ways import INTRUSION, Way

_PER_KIND = 2  # of each kind, so many that a person still reads
Key = tuple[bool, int, bool, int, bool, int]


def key_of(way: Way, matrix: Matrix) -> Key:
    """What ways are sorted by; lower comes first."""
    stack = way.stack
    grave = stack is not None and stack.advisories is not None and stack.advisories.grave > 0
    return bool(way.breaks), INTRUSION.index(way.kind), way.proof is None, len(way.cost.lost), grave, place_of(way, matrix)


def place_of(way: Way, matrix: Matrix) -> int:
    """How many releases are newer than the one it leads to; of one that leads to none, all."""
    name = way.image.release if way.image else way.stack.vllm if way.stack else ""
    release = matrix.release(name) if name else None
    return matrix.releases.index(release) if release else len(matrix.releases)


def ranked(ways: Iterable[Way], matrix: Matrix) -> list[Way]:
    """All ways in order, each once."""
    found: dict[tuple[object, ...], Way] = {}
    for way in sorted(ways, key=lambda way: key_of(way, matrix)):
        stack = way.stack
        built = (stack.vllm, stack.variant, stack.python) if stack else None
        found.setdefault((way.kind, built, way.image.reference if way.image else None, way.commands, way.title.key), way)
    return list(found.values())


def worth_it(ways: list[Way], matrix: Matrix, *, mends: int) -> list[Way]:
    """Without the ways that change more and lead to no more than one before them: no newer release, nothing less lost, no wish kept.

    The first `mends` kinds of ways that mend the host itself are kept: each of them is another cure of the same fault.
    """
    kept: list[Way] = []
    for way in ways:
        own = [other for other in kept if other.kind == way.kind]
        if len(own) >= max(_PER_KIND, mends if way.title.key.startswith("remedy.") else 0):
            continue
        if way.title.key.startswith("remedy.") or not any(_covers(other, way, matrix) for other in kept):
            kept.append(way)
    return kept


def _covers(other: Way, way: Way, matrix: Matrix) -> bool:
    """Whether a less intrusive way leads at least as far."""
    if other.proof is None or (other.breaks and not way.breaks):
        return False
    return place_of(other, matrix) <= place_of(way, matrix) and len(other.cost.lost) <= len(way.cost.lost)
