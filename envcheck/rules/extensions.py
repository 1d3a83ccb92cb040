"""Rules on what is compiled against torch or for a GPU: torchvision, flash-attn, flashinfer, triton's assembler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.packages import Extension, Packages, Series, series
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.host import known
from envcheck.model.versions import compute_capability, lenient_version, local_cuda
from envcheck.rules.build import dotted
from envcheck.rules.make import error, finding, info, remedy, warning
from envcheck.rules.situation import Situation, TorchFact
from envcheck.rules.target_environment import FRESH, changed, in_conda, released_torch, removed

_SHOWN = 80
_FLASHINFER = ("flashinfer-python", "flashinfer", "flashinfer-cubin", "flashinfer-jit-cache")
# `2.7.4.post1+cu12torch2.6cxx11abiFALSE`, `0.2.5+cu124torch2.6`: what a wheel's own name tells of its build.
_BUILT_FOR = r"\+cu(\d{2})\d{0,2}(?:torch(\d+)\.(\d+))?(?:cxx11abi(TRUE|FALSE))?"


def companions(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Torchvision and torchaudio: of torch's CUDA major, and of the release that belongs to torch's."""
    torch = situation.torch
    if torch is None:
        return
    for name in ("torchvision", "torchaudio"):
        raw = situation.packages.get(name)
        version = lenient_version(raw) if raw else None
        if raw is None or version is None:
            continue
        cuda = local_cuda(version)
        if cuda and torch.cuda and cuda[0] != torch.cuda[0]:
            from envcheck.rules.companions import companion_ways  # noqa: PLC0415  # loaded where a fault is found

            shown, ways = torch.raw or dotted(torch.cuda), companion_ways(situation, matrix)
            yield error("torchvision-mismatch", package=f"{name} {raw}"[:_SHOWN], torch=shown[:_SHOWN], remedies=ways)
            return
        yield from _by_release(situation, matrix, name, raw, version)


def _by_release(situation: Situation, matrix: Matrix, name: str, raw: str, version: Version) -> Iterator[Finding]:
    torch = released_torch(situation)
    needed = matrix.packages.companions.get(series(torch), {}).get(name) if torch else None
    if needed is None or version.is_prerelease or series(version) == needed:
        return
    # torchvision's operators register with the torch they were built for; torchaudio is only needed by models that hear.
    severity = Severity.ERROR if name == "torchvision" else Severity.WARNING
    ways = changed(situation, f"{name}=={dotted(needed)}.*")
    params = {"package": f"{name} {raw}"[:_SHOWN], "torch": str(torch), "needed": dotted(needed)}
    yield finding("torchvision-mismatch", severity, "release", remedies=ways, **params)


def flashinfer(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The flashinfer packages check that they are of one release when imported."""
    parts = {name: raw for name in _FLASHINFER if (raw := situation.packages.get(name))}
    if len(parts) < 2:
        return
    parsed = {name: found.public for name, raw in parts.items() if (found := lenient_version(raw))}
    if len(set(parsed.values())) > 1:
        listed = ", ".join(f"{name} {version}" for name, version in parsed.items())
        yield error("flashinfer-mismatch", packages=listed[:200], remedies=_of_one_release(situation, parsed))


def _of_one_release(situation: Situation, parsed: dict[str, str]) -> tuple[Remedy, ...]:
    """Bring the others to the release that vLLM pins, else to that of the package itself; kernels compiled ahead can go."""
    own = situation.installed.release.record.requires.get("flashinfer-python", "") if situation.installed else ""
    main = next((parsed[name] for name in ("flashinfer-python", "flashinfer") if name in parsed), None)
    wanted = own[2:] if own.startswith("==") else main
    others = [name for name, version in parsed.items() if version != wanted]
    if wanted is None or not others:
        return (FRESH,)
    if others == ["flashinfer-jit-cache"]:  # the package index does not have it
        return removed(situation, *others)
    names = ("flashinfer-python" if name == "flashinfer" else name for name in others if name != "flashinfer-jit-cache")
    return changed(situation, *(f"{name}=={wanted}" for name in names))


class BuiltFor(msgspec.Struct, frozen=True):
    """What a wheel's name tells of its build; None = not told."""

    cuda_major: int
    torch: Series | None
    cxx11: bool | None


@lru_cache(maxsize=1024)
def built_for(text: str) -> BuiltFor | None:
    """The build that a version's local label, or a wheel's name in a URL, tells."""
    found = re.search(_BUILT_FOR, text[:1024].replace("%2B", "+").replace("%2b", "+"))
    if found is None:
        return None
    torch = (int(found[2]), int(found[3])) if found[2] else None
    return BuiltFor(int(found[1]), torch, None if found[4] is None else found[4] == "TRUE")


def extensions(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Packages compiled against torch, where their version or their wheel's name says against which."""
    by_name = matrix.packages.extensions
    for name, extension in by_name.items():
        raw = situation.packages.get(name)
        if raw is None:
            continue
        yield from _of_gpu(situation, extension, raw)
        build = built_for(raw) if "+" in raw else _by_origin(situation, name)
        if build is not None and situation.torch is not None:
            yield from _against_torch(situation, matrix.packages, extension, raw, build, situation.torch)


def _by_origin(situation: Situation, name: str) -> BuiltFor | None:
    """The same, from the URL it was installed from."""
    origin = (known(situation.host.package_origins) or {}).get(name)
    url = known(origin.url) if origin else None
    return built_for(url) if url else None


def _against_torch(
    situation: Situation, packages: Packages, extension: Extension, raw: str, build: BuiltFor, torch: TorchFact
) -> Iterator[Finding]:
    released = released_torch(situation)
    name = f"{extension.package} {raw}"[:_SHOWN]
    ways = (*removed(situation, extension.package)[:1], FRESH)
    shown = (torch.raw or dotted(torch.cuda or ()))[:_SHOWN]
    if "torch" in extension.tells and build.torch and released and build.torch != series(released):
        yield error(extension.code, "torch", package=name, built=dotted(build.torch), torch=shown, remedies=ways)
    elif "cuda" in extension.tells and torch.cuda and build.cuda_major != torch.cuda[0]:
        yield error(extension.code, "cuda", package=name, built=str(build.cuda_major), torch=shown, remedies=ways)
    elif "abi" in extension.tells and build.cxx11 is not None and released and not in_conda(situation):
        own = packages.cxx11_abi(released)
        if own is not None and own is not build.cxx11:
            yield error(extension.code, "abi", package=name, torch=shown, remedies=ways)


def _of_gpu(situation: Situation, extension: Extension, raw: str) -> Iterator[Finding]:
    """A package that serves no GPU of this host: there, but of no use."""
    if extension.capability_from is None or not situation.capabilities:
        return
    lowest = compute_capability(extension.capability_from)
    highest = compute_capability(extension.capability_to) if extension.capability_to else None
    served = (c for c in situation.capabilities if lowest and lowest <= c and (highest is None or c <= highest))
    if next(served, None) is None:
        listed = ", ".join(map(str, situation.capabilities))
        yield info(extension.code, "unserved", package=f"{extension.package} {raw}"[:_SHOWN], capability=listed)


def assembler(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Triton's own assembler against the GPU: kernels are compiled at start in every release."""
    packages = matrix.packages
    lacking = next((capability for capability in situation.capabilities if capability in packages.assembled), None)
    if lacking is None:
        return
    torch = released_torch(situation)
    if situation.torch is not None and (torch is None or situation.torch.cpu):
        return  # a vendor's torch brings a triton of its own, one without CUDA none
    raw = situation.packages.get("triton", "")
    release = matrix.torch(str(torch)) if torch and not raw else None
    text = raw or (release.record.triton if release else None)
    version = lenient_version(text) if text else None
    record = packages.assembler(version, lacking) if version else None
    if record is None or _named(situation, record.variable):
        return
    params = {"triton": str(version), "capability": str(lacking), "cuda": record.cuda}
    way = remedy("setting", "other-ptxas", f"export {record.variable}=/usr/local/cuda/bin/ptxas", cuda=record.cuda)
    told = error if raw else warning
    yield msgspec.structs.replace(told("triton-ptxas-too-old", remedies=(way, FRESH), **params), sources=tuple(record.sources))


def _named(situation: Situation, variable: str) -> bool:
    """Whether another assembler is named to triton, by this environment or the container's."""
    container = known(situation.host.container)
    environments = (situation.host.environment, container.environment if container else None)
    return any((known(environment) or {}).get(variable) for environment in environments)
