"""torch in the target environment: its own `version.py`, read as text, and its metadata. Either may lack the CUDA label."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.interpreter import target
from envcheck.probes.look import Look
from envcheck.probes.packages import installed

FIELDS = ("torch.version", "torch.cuda", "torch.arch_list")
# `cuda = '12.1'`, `cuda: Optional[str] = "12.8"`, `hip = None`, `__version__ = '2.9.1+cu128'`
_ASSIGNMENT = r"""^(__version__|cuda|hip)\s*(?::[^=\n]*)?=\s*(None|'[^'\n]*'|"[^"\n]*")"""
_CANNOT_TELL = Unreadable("only torch itself, imported, tells")


class TorchVersion(msgspec.Struct, frozen=True):
    """`version` with its local label; `cuda` and `hip` None = built without; `stated` = the file has a line on CUDA."""

    version: str | None
    cuda: str | None
    hip: str | None
    stated: bool


def parse_version_py(text: str) -> TorchVersion:
    """What `torch/version.py` states."""
    values = {name: None if value == "None" else value[1:-1] for name, value in re.findall(_ASSIGNMENT, text, re.MULTILINE)}
    return TorchVersion(values.get("__version__"), values.get("cuda"), values.get("hip"), "cuda" in values)


def probe(look: Look) -> Facts:
    """All facts under `torch`; absent where it is not installed."""
    file = _version_py(look)
    packages = look.once(installed)
    package = packages.value.get("torch") if isinstance(packages, Found) else None
    if not isinstance(file, Found):
        if package is None:
            return all_of(FIELDS, file if isinstance(packages, Found) or isinstance(file, Unreadable) else packages)
        return {"torch.version": Found(package.version, package.path), "torch.cuda": Unreadable(file.why), "torch.arch_list": _CANNOT_TELL}
    told = parse_version_py(file.value)
    version: Fact[Any] = _version(told, package.version if package else None, file.source, package.path if package else "")
    cuda: Fact[Any] = Found(told.cuda, file.source) if told.cuda else Absent(f"a ROCm build ({told.hip})" if told.hip else "a CPU build")
    if not told.stated:
        cuda = Unreadable(f"{file.source} does not tell")
    return {"torch.version": version, "torch.cuda": cuda, "torch.arch_list": _CANNOT_TELL}


def _version(told: TorchVersion, metadata: str | None, file: str, folder: str) -> Fact[str]:
    """The file is what an import shows; the metadata wins only where it says the same and more."""
    if told.version is None:
        return Found(metadata, folder) if metadata else Unreadable(f"{file} names no version")
    if metadata is None or metadata == told.version:
        return Found(told.version, file)
    if metadata.startswith(told.version + "+"):
        return Found(metadata, folder)
    if told.version.startswith(metadata + "+"):
        return Found(told.version, file)
    return Found(told.version, f"{file} ({folder} says {metadata})")


def _version_py(look: Look) -> Fact[str]:
    interpreter = look.once(target)
    if not isinstance(interpreter, Found):
        return interpreter
    for site in interpreter.value.sites:
        fact = look.text(f"{site}/torch/version.py", 8192)
        if not isinstance(fact, Absent):
            return fact
    return Absent(f"no torch for {interpreter.value.executable}")
