"""The order of ways: wishes kept before wishes broken, the less intrusive first, then what is proved, is safe, loses less, is newer."""

from __future__ import annotations

from collections.abc import Iterable

from envcheck.matrix.load import Matrix
from envcheck.model.ways import INTRUSION, Way

_PER_KIND = 2  # of each kind, so many that a person still reads
Key = tuple[bool, int, bool, bool, bool, int, int, int]


def key_of(way: Way, matrix: Matrix) -> Key:
    """What ways are sorted by; lower comes first."""
    stack = way.stack
    grave = stack is not None and stack.advisories is not None and stack.advisories.grave > 0
    lost, place = len(way.cost.lost), place_of(way, matrix)
    unused = any(text.key == "way.lost.gpus" for text in way.cost.lost)
    return bool(way.breaks), INTRUSION.index(way.kind), way.proof is None, unused, grave, lost, place, way.cost.download_mib or 0


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


def worth_it(ways: list[Way], matrix: Matrix, *, mends: int, wanted: bool) -> list[Way]:
    """Without the ways that change more and lead to no more than one before them: no newer release, nothing less lost, no wish kept.

    Ways that mend the host itself are kept, up to `mends` of a kind: each is another cure of the same fault. Where a release is `wanted`,
    one way of each kind that leads there is kept too: not everybody has a container engine, or root.
    """
    kept: list[Way] = []
    for way in ways:
        cure = way.title.key.startswith("remedy.")
        own = sum(other.kind == way.kind for other in kept)
        if own >= (mends if cure else _PER_KIND):
            continue
        another = wanted and not way.breaks and not own
        if cure or another or not any(_covers(other, way, matrix) for other in kept):
            kept.append(way)
    return kept


def _covers(other: Way, way: Way, matrix: Matrix) -> bool:
    """Whether a way that is no more intrusive leads at least as far."""
    if other.proof is None or (other.breaks and not way.breaks) or INTRUSION.index(other.kind) > INTRUSION.index(way.kind):
        return False
    return place_of(other, matrix) <= place_of(way, matrix) and len(other.cost.lost) <= len(way.cost.lost)
