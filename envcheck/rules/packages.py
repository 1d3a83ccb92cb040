"""Rules on Python packages by their releases: what the installed vLLM asks for, what refuses what, what is known to be broken."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.packages import NeededModule, PackageFault, in_range
from envcheck.matrix.release import Release, specifier
from envcheck.model.finding import Finding, Severity
from envcheck.model.host import known
from envcheck.model.versions import lenient_version
from envcheck.rules.make import error, finding, warning
from envcheck.rules.situation import Situation
from envcheck.rules.target_environment import FRESH, built_from_source, changed, vendors_build

# Judged by rules of their own.
_ELSEWHERE = frozenset(("torch", "torchvision", "torchaudio", "triton", "vllm-nccl-cu12"))
_FLASHINFER = ("flashinfer-python", "flashinfer", "flashinfer-cubin")
_ALIASES = {"flashinfer": "flashinfer-python"}  # as reports shorten it
_MOST, _SHOWN = 5, 60

_FORMATS_OF_FILES = ("gguf", "bitsandbytes")  # ways to load that are quantization methods too


class Departure(msgspec.Struct, frozen=True):
    """A package outside what a vLLM release takes.

    `wanted` = the specifier that it misses, `known` = whether that was found out rather than stated in the metadata, `side` = whether
    the package is too old, too new, or an excluded release; `major` = whether by a whole major (or, where too old, a minor) release.
    """

    wanted: str
    known: bool
    side: str
    major: bool


def requirements(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The packages beside the installed vLLM against what it asks for, in its metadata and by what is known since."""
    installed = situation.installed
    if installed is None or not installed.exact or built_from_source(situation) or vendors_build(situation):
        return  # a development build may ask for something else
    others: list[str] = []
    for name, raw in situation.packages.items():
        if name in _ELSEWHERE:
            continue
        found = _departure(installed.release, _ALIASES.get(name, name), raw)
        if found is None or _told_by_fault(situation, matrix, name, raw):
            continue
        if name in _SPECIFIC:
            yield from _specific(situation, installed.release, name, raw, found)
        else:
            others.append(f"{name} {raw[:_SHOWN]} ({found.wanted})")
    if others:
        more = str(len(others) - _MOST) if len(others) > _MOST else "0"
        listed = "; ".join(others[:_MOST])
        yield warning("dependency-conflict", vllm=situation.installed_raw[:_SHOWN], packages=listed, more=more, remedies=(FRESH,))


_SPECIFIC = {
    "transformers": "transformers-mismatch",
    "numpy": "numpy-mismatch",
    "vllm-flash-attn": "flash-attn-mismatch",
    "xformers": "torch-vllm-mismatch",
    **dict.fromkeys(_FLASHINFER, "flashinfer-mismatch"),
}


def _specific(situation: Situation, release: Release, name: str, raw: str, found: Departure) -> Iterator[Finding]:
    """A departure with a code of its own."""
    params = {"vllm": situation.installed_raw[:_SHOWN], "package": name, "present": raw[:_SHOWN], "needed": found.wanted}
    ways = changed(situation, f"{name}{found.wanted}" if found.known else f"{name}{_both(release, name)}")
    if name == "transformers":
        severity = Severity.ERROR if found.major or (found.known and found.side == "above") else Severity.WARNING
        yield finding("transformers-mismatch", severity, found.side, remedies=ways, **params)
    elif name == "numpy":
        severity = Severity.ERROR if found.major and found.side == "above" else Severity.WARNING
        yield finding("numpy-mismatch", severity, remedies=ways, **params)
    elif name == "vllm-flash-attn":
        yield error("flash-attn-mismatch", "pinned", remedies=ways, **params)
    elif name == "xformers":
        torch = situation.torch
        pin = release.torch_pin
        if torch is None or torch.version is None or pin is None or torch.version.base_version == pin:
            yield warning("torch-vllm-mismatch", "companion", remedies=ways, **params)
    else:
        yield warning("flashinfer-mismatch", "pinned", remedies=ways, **params)


def _both(release: Release, name: str) -> str:
    """What the metadata ask for together with what is known since."""
    texts = (release.record.requires.get(name, ""), release.record.constraints.get(name, ""))
    return ",".join(text for text in texts if text)


@lru_cache(maxsize=8192)
def _departure(release: Release, name: str, raw: str) -> Departure | None:
    stated, since = release.record.requires.get(name), release.record.constraints.get(name)
    if not stated and not since:
        return None
    version = lenient_version(raw)
    if version is None:
        return None
    for text, is_known in ((stated, False), (since, True)):
        if text and not in_range(version, text):
            side, bound = _side(version, text)
            return Departure(text, is_known, side, _by_far(version, side, bound))
    return None


def _side(version: Version, text: str) -> tuple[str, Version | None]:
    """(below, above or excluded; the bound that is missed)."""
    public = Version(version.public)
    for part in specifier(text):
        if part.contains(public, prereleases=True):
            continue
        bound = None if part.version.endswith("*") else Version(part.version)
        if part.operator in ("<", "<="):
            return "above", bound
        if part.operator in (">", ">=", "~="):
            return "below", bound
        if part.operator == "==" and bound is not None:
            return ("below" if public < bound else "above"), bound
    return "excluded", None


def _by_far(version: Version, side: str, bound: Version | None) -> bool:
    if bound is None:
        return False
    if side == "above":
        return version.major > bound.major or (version.major == bound.major and bound.minor == 0 and bound.micro == 0)
    return (version.major, version.minor) < (bound.major, bound.minor)


def _told_by_fault(situation: Situation, matrix: Matrix, name: str, raw: str) -> bool:
    """Whether a known fault says it better."""
    return any(_hit(situation, fault, raw) for fault in matrix.packages.faults.get(name, ()))


def faults(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Releases known to be broken, where all that must hold for it is known to hold."""
    by_package = matrix.packages.faults
    for name, known_faults in by_package.items():
        raw = situation.packages.get(name)
        for fault in known_faults if raw else ():
            if raw and _hit(situation, fault, raw):
                params = {"package": name, "present": raw[:_SHOWN], "fixed": ", ".join(fault.install)}
                vllm = situation.installed_raw[:_SHOWN] or "?"
                ways = changed(situation, *fault.install)
                told = finding(fault.code, Severity(fault.severity), fault.effect, remedies=ways, vllm=vllm, **params)
                yield msgspec.structs.replace(told, sources=tuple(fault.sources))


def _hit(situation: Situation, fault: PackageFault, raw: str) -> bool:
    version = lenient_version(raw)
    if version is None or not in_range(version, fault.versions):
        return False
    if fault.vllm is not None:
        installed = situation.installed
        if installed is None or vendors_build(situation) or not in_range(installed.release.version, fault.vllm):
            return False
    return all(_beside(situation, name, text) for name, text in fault.beside.items())


def _beside(situation: Situation, name: str, text: str) -> bool:
    version = lenient_version(situation.packages.get(name, ""))
    return version is not None and in_range(version, text)


def needs(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Packages that refuse each other, whatever vLLM asks for."""
    by_package = matrix.packages.needs
    for name, all_needs in by_package.items():
        raw = situation.packages.get(name)
        for need in all_needs if raw else ():
            other = situation.packages.get(need.other)
            if need.unless in situation.packages or (name == "vllm" and vendors_build(situation)):
                continue
            if raw and other is not None and _refuses(need.versions, need.needs, raw, other):
                ways = changed(situation, f"{need.other}{need.needs}")
                told = finding(
                    need.code,
                    Severity(need.severity),
                    "beside",
                    remedies=ways,
                    package=name,
                    present=raw[:_SHOWN],
                    other=f"{need.other} {other[:_SHOWN]}",
                    needed=need.needs,
                )
                yield msgspec.structs.replace(told, sources=tuple(need.sources))


@lru_cache(maxsize=4096)
def _refuses(versions: str, needed: str, raw: str, other: str) -> bool:
    version, beside = lenient_version(raw), lenient_version(other)
    return version is not None and beside is not None and in_range(version, versions) and not in_range(beside, needed)


def modules(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Packages that the installed vLLM, or the model's quantization with it, cannot do without and that are known to be missing."""
    installed = situation.installed
    packages = known(situation.host.packages)
    if installed is None or packages is None:
        return
    for module in matrix.packages.modules:
        name = module.package
        missing = packages.get(name, "") is None and not (name == "torch" and situation.torch)
        if not missing and not (module.versions and name in situation.packages):
            continue
        if not in_range(installed.release.version, module.vllm):
            continue
        if module.quantization and module.quantization != _quantization(situation):
            continue
        if missing:
            ways = changed(situation, f"{name}{module.versions}")
            yield error("python-module-missing", module=name, vllm=situation.installed_raw[:_SHOWN], remedies=ways)
        else:
            yield from _too_old(situation, module)


def _too_old(situation: Situation, module: NeededModule) -> Iterator[Finding]:
    raw = situation.packages[module.package]
    version = lenient_version(raw)
    if version is not None and not in_range(version, module.versions):
        ways = changed(situation, f"{module.package}{module.versions}")
        params = {"package": module.package, "present": raw[:_SHOWN], "fixed": module.versions, "vllm": situation.installed_raw[:_SHOWN]}
        yield error("known-bad-package", "quantization", remedies=ways, **params)


def _quantization(situation: Situation) -> str | None:
    """The quantization method of the model asked about, by the request's arguments, its configuration or its file's name."""
    request = situation.request
    asked = request.serve_args.get("quantization")
    if isinstance(asked, str):
        return asked
    loaded = request.serve_args.get("load_format")
    if loaded in _FORMATS_OF_FILES:
        return str(loaded)
    if (request.model or "").lower().endswith(".gguf"):
        return "gguf"
    config = (request.model_config or {}).get("quantization_config")
    method = config.get("quant_method") if isinstance(config, dict) else None
    return method if isinstance(method, str) else None
