"""How torchvision and torchaudio are changed to the builds that belong to the torch at hand. Loaded where a fault with them is found."""

from __future__ import annotations

from envcheck.matrix.load import Matrix
from envcheck.matrix.packages import Series, series
from envcheck.model.finding import Remedy
from envcheck.rules.build import dotted
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, part
from envcheck.rules.target_environment import FRESH, installer, released_torch

COMPANIONS = ("torchvision", "torchaudio")


def companion_ways(situation: Situation, matrix: Matrix) -> tuple[Remedy, ...]:
    """The installed companions anew from torch's own index, where that has them for this torch; and a fresh environment."""
    torch, managed = situation.torch, part(situation.host.python, "externally_managed") is True
    version = released_torch(situation)
    if torch is None or torch.cuda is None or version is None or managed:
        return (FRESH,)
    label = f"cu{''.join(map(str, torch.cuda[:2]))}"
    belongs = matrix.packages.companions.get(series(version), {})
    wanted = [f"{name}=={dotted(belongs[name])}.*" for name in COMPANIONS if name in situation.packages and name in belongs]
    built_with = [series(version), *(belongs[name] for name in ("torchaudio",) if name in situation.packages and name in belongs)]
    url = next((mirror.url.replace("{variant}", label) for mirror in matrix.mirrors("torch-wheels") if mirror.upstream), None)
    if not wanted or url is None or not all(_built(matrix, one, label, situation.arch or "x86_64") for one in built_with):
        return (FRESH,)
    # --no-deps, or the installer would change torch with them.
    words = ("--no-deps", "--force-reinstall", "--index-url", url, *wanted)
    return (remedy("setting", "install-packages", installer(situation, "install", *words)), FRESH)


def _built(matrix: Matrix, minor: Series, label: str, arch: str) -> bool:
    """Whether torch of a series, and with it what is built beside it, is on torch's index with this label."""
    return any(
        build.variant == label and build.arch == arch
        for torch in matrix.torch_releases
        if series(torch.version) == minor
        for build in torch.builds
    )
