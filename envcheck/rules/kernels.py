"""Which CUDA kernels a release has compiled on this host, and where they are to be had compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.matrix.toolchain import KernelCompilation
from envcheck.model.finding import Remedy
from envcheck.model.host import known
from envcheck.model.versions import compute_capability, lenient_version
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation
from envcheck.rules.target_environment import installer


def compiled_here(situation: Situation, matrix: Matrix, release: Release, *, installed: bool) -> tuple[KernelCompilation, ...]:
    """The kernels that are not there compiled; `installed` = the packages of the target interpreter are those in use."""
    packages = situation.packages if installed else {}
    environment = known(situation.host.environment) or {}
    return tuple(
        entry
        for entry in matrix.toolchain.kernels(release.version)
        if _on_these(situation, entry) and _used(entry, packages, environment) and (not entry.block_fp8 or _block_fp8(situation, matrix))
    )


def _on_these(situation: Situation, entry: KernelCompilation) -> bool:
    low, high = compute_capability(entry.capability_from), compute_capability(entry.capability_to)
    return low is not None and high is not None and any(low <= capability <= high for capability in situation.capabilities)


def _used(entry: KernelCompilation, packages: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    value = environment.get(entry.variable or "")
    if (entry.off is not None and value == entry.off) or (entry.on is not None and value != entry.on):
        return False
    version = packages.get(entry.package)
    if (entry.optional and not version) or any(name in packages for name in entry.unless):
        return False
    return not (entry.labelled and version and "+" in version)


def _block_fp8(situation: Situation, matrix: Matrix) -> bool:
    """Whether the model asked about is quantized to FP8 by blocks, by its configuration or the catalogue's."""
    request = situation.request
    card = matrix.model(request.model) if request.model and request.model_config is None else None
    config: Mapping[str, Any] = request.model_config or (card.config if card else {})
    told = config.get("quantization_config")
    return isinstance(told, Mapping) and told.get("quant_method") == "fp8" and bool(told.get("weight_block_size"))


def precompiled(situation: Situation, entry: KernelCompilation, release: Release) -> Iterator[Remedy]:
    """The package that brings the kernels compiled, of the release that is installed or pinned, for torch's CUDA."""
    pinned = release.record.requires.get(entry.package, "").removeprefix("==")
    version = lenient_version(situation.packages.get(entry.package) or pinned)
    build = release.build(situation.arch or "x86_64")
    cuda = (situation.torch.cuda if situation.torch else None) or (build.cuda if build else None)
    if not entry.unless or entry.index is None or version is None or cuda is None or len(cuda) < 2:
        return
    index = entry.index.format(cuda=f"cu{cuda[0]}{cuda[1]}")
    package = entry.unless[0]
    command = installer(situation, "install", f"{package}=={version.public}", "--index-url", index)
    yield remedy("setting", "install-compiled", command, package=package)
