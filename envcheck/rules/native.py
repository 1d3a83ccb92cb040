"""Rules on the libraries that torch and vLLM load: NCCL, cuDNN, the C++ standard library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.packages import series
from envcheck.matrix.release import Build
from envcheck.matrix.torch_release import Torch
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.model.versions import lenient_version, numbers
from envcheck.rules.build import dotted
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import Situation, text
from envcheck.rules.target_environment import FRESH, built_from_source, changed, released_torch

_SHOWN = 60


def nccl(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The NCCL that is loaded against the one torch was linked with; a newer one does."""
    told = known(situation.host.nccl)
    if told is not None and known(told.linked_statically) is True:
        if told.version is None and len(situation.usable_gpus) > 1:
            yield warning("nccl-mismatch", "static", remedies=changed(situation, _project(situation, "nccl")))
        return
    raw = text(told, "version") or _by_package(situation, "nccl")
    found = _only_version(raw) if raw else None
    if found is None:
        return
    torch, release = _torch(situation, matrix)
    if torch is None or release is None:
        return
    needed = lenient_version(release.record.nccl or "")
    symbol = matrix.packages.nccl_symbol(torch, found)
    where = text(told, "path") or "pip"
    if symbol is not None:
        params = {"present": raw[:_SHOWN], "needed": symbol.nccl, "symbol": symbol.symbol, "torch": release.raw, "path": where[:200]}
        yield error("nccl-mismatch", "symbol", remedies=_pinned(situation, "nccl", release.record.nccl), **params)
    elif needed is not None and series(found) < series(needed):
        params = {"present": raw[:_SHOWN], "needed": str(needed), "torch": release.raw, "path": where[:200]}
        yield warning("nccl-mismatch", remedies=_pinned(situation, "nccl", release.record.nccl), **params)


def cudnn(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The cuDNN that is loaded against the one torch was compiled with: the same major, and not older."""
    raw, where = _loaded_cudnn(situation)
    found = lenient_version(raw) if raw else None
    if found is None:
        return
    _, release = _torch(situation, matrix)
    needed = lenient_version(release.record.cudnn or "") if release else None
    if release is None or needed is None:
        return
    params = {"present": raw[:_SHOWN], "needed": str(needed), "torch": release.raw, "path": where[:200]}
    if found.major != needed.major:
        yield error("cudnn-mismatch", "major", remedies=_pinned(situation, "cudnn", release.record.cudnn), **params)
    elif series(found) < series(needed) and _of_the_index(situation, release):
        yield warning("cudnn-mismatch", "older", remedies=_pinned(situation, "cudnn", release.record.cudnn), **params)


def _loaded_cudnn(situation: Situation) -> tuple[str, str]:
    """(version, where it lies): the copy that wins, else the package; a version alone may be the system's, which torch passes by."""
    told = known(situation.host.cudnn)
    copies = known(told.copies) if told else None
    winner = next((copy for copy in copies or () if known(copy.wins) is True), None)
    if winner is not None:
        return known(winner.version) or "", winner.path
    if path := text(told, "path"):
        return text(told, "version"), path
    return _by_package(situation, "cudnn"), "pip"


def _torch(situation: Situation, matrix: Matrix) -> tuple[Version | None, Torch | None]:
    """The released torch with CUDA that is installed, and its record."""
    version = released_torch(situation)
    if version is None or situation.torch is None or not situation.torch.cuda:
        return None, None
    return version, matrix.torch(str(version))


def _of_the_index(situation: Situation, release: Torch) -> bool:
    """Whether torch is the index's build, whose libraries the record names."""
    build = release.build(situation.arch or "x86_64")
    return build is not None and situation.torch is not None and build.cuda == situation.torch.cuda


def _project(situation: Situation, library: str) -> str:
    cuda = situation.torch.cuda if situation.torch else None
    return f"nvidia-{library}-cu{cuda[0] if cuda else 12}"


def _by_package(situation: Situation, library: str) -> str:
    """The version of the library's wheel, or what a report says under the library's bare name."""
    return situation.packages.get(_project(situation, library)) or situation.packages.get(library, "")


def _only_version(raw: str) -> Version | None:
    """The one version in a text such as `2.27.7 (cu13)`; None where it names several."""
    found = set(re.findall(r"\b\d{1,2}\.\d{1,3}\.\d{1,3}\b", raw[:200]))
    return Version(found.pop()) if len(found) == 1 else None


def _pinned(situation: Situation, library: str, version: str | None) -> tuple[Remedy, ...]:
    return changed(situation, f"{_project(situation, library)}=={version}") if version else (FRESH,)


def libstdcxx(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The C++ standard library that the interpreter loads, the environment's own before the system's, against what vLLM's wheel needs."""
    own = text(situation.host.python, "libstdcxx")
    raw = own or text(situation.host.os, "libstdcxx")
    present = numbers(raw) if raw else None
    build = _wheel(situation, matrix) if present else None
    needed = numbers(build.record.libstdcxx_needed) if build and build.record.libstdcxx_needed else None
    if present is None or needed is None or present >= needed:
        return
    params = {
        "present": dotted(present),
        "needed": dotted(needed),
        "vllm": situation.installed_raw[:_SHOWN] or str(situation.request.vllm)[:_SHOWN],
    }
    if own:
        way = remedy("setting", "newer-libstdcxx-conda", "conda install -c conda-forge 'libstdcxx>=12'")
        yield error("libstdcxx-too-old", "own", remedies=(way, FRESH), **params)
    else:
        yield error("libstdcxx-too-old", remedies=(remedy("container", "use-image"),), **params)


def _wheel(situation: Situation, matrix: Matrix) -> Build | None:
    """The wheel that is installed, else the one asked about."""
    arch = situation.arch or "x86_64"
    installed = situation.installed
    if installed is not None:
        return None if built_from_source(situation) or not installed.exact else installed.release.build(arch, installed.variant)
    return matrix.matching(situation.request.vllm)[0].build(arch) if situation.request.vllm else None
