"""Rules on GPUs that differ: different models together, and those among them that the release has no code for."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Build
from envcheck.model.finding import Finding, Remedy
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.rules.build import Target, judge_build, name_of
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import GpuFact, Situation, only_visible
from envcheck.rules.spread import release_of

_NO_CODE = frozenset({"gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build"})


def mixed(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Different GPU models visible together; an error where the release serves some of them and not others.

    Slices of a MIG board bear different names and never work together, so they are no mixture.
    """
    usable = situation.usable_gpus
    if len(usable) < 2 or all(gpu.name == usable[0].name for gpu in usable) or any(gpu.mig for gpu in usable):
        return
    names = tuple(dict.fromkeys(gpu.name for gpu in usable))
    capabilities = situation.capabilities
    without, vllm = _unserved(situation, matrix) if len(capabilities) > 1 else (frozenset(), "")
    served = [gpu for gpu in usable if gpu.capability not in without]
    ways = tuple(_of_one_name(situation, served, names))
    if without and served:
        old = [f"{gpu.name} ({gpu.capability})" for gpu in usable if gpu.capability in without]
        listed, others = _listed(old), _listed([gpu.name for gpu in served])
        yield error("mixed-gpus", "release" if vllm else "unserved", names=listed, others=others, vllm=vllm, remedies=ways)
    else:
        yield warning("mixed-gpus", "generations" if len(capabilities) > 1 else "detail", names=_listed(list(names)), remedies=ways)


def _listed(names: list[str]) -> str:
    return ", ".join(list(dict.fromkeys(names))[:6])[:300]


def _unserved(situation: Situation, matrix: Matrix) -> tuple[frozenset[ComputeCapability], str]:
    """Compute capabilities without code in the wheel that is installed or asked about, and that wheel; else those no release serves."""
    build, release = _build(situation, matrix), release_of(situation, matrix)
    if release is None or build is None:
        floors = [found for entry in matrix.engines if (found := compute_capability(entry.v0_min_capability or ""))]
        return frozenset(one for one in situation.capabilities if floors and one < min(floors)), ""
    without = set()
    for capability in situation.capabilities:
        target = Target(build.arch, None, False, None, None, None, (capability,))
        if any(clash.code in _NO_CODE for clash in judge_build(target, matrix, release, build).errors):
            without.add(capability)
    return frozenset(without), name_of(release, build)


def _build(situation: Situation, matrix: Matrix) -> Build | None:
    release, own = release_of(situation, matrix), situation.installed
    variant = own.variant if own and own.release is release and not situation.request.vllm else ""
    return release.build(situation.arch or "x86_64", variant) if release else None


def _of_one_name(situation: Situation, served: list[GpuFact], names: tuple[str, ...]) -> Iterator[Remedy]:
    """The GPUs of each name by themselves, most memory first."""
    groups = [group for name in names if (group := [gpu for gpu in served if gpu.name == name])]
    groups.sort(key=lambda group: -sum(gpu.memory_mib or 0 for gpu in group))
    for group in groups[:3]:
        yield remedy("setting", "visible-devices", only_visible(situation, group), name=group[0].name)
