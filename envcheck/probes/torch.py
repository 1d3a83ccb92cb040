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
from envcheck.probes.site_packages import literal, sites

FIELDS = ("torch.version", "torch.cuda", "torch.arch_list")
# `cuda = '12.1'`, `cuda: Optional[str] = "12.8"`, `hip = None`, `__version__ = '2.9.1+cu128'`
_ASSIGNMENT = r"""^(__version__|cuda|hip|xpu)\s*(?::[^=\n]*)?=\s*(None|'[^'\n]*'|"[^"\n]*")"""
_CANNOT_TELL = Unreadable("only torch itself, imported, tells")


class TorchVersion(msgspec.Struct, frozen=True):
    """`version` with its local label; `cuda`, `hip` and `xpu` None = built without; `stated` = the file has a line on CUDA."""

    version: str | None
    cuda: str | None
    hip: str | None
    stated: bool
    xpu: str | None = None


def parse_version_py(text: str) -> TorchVersion:
    """What `torch/version.py` states."""
    values = {name: None if value == "None" else value[1:-1] for name, value in re.findall(_ASSIGNMENT, text, re.MULTILINE)}
    return TorchVersion(values.get("__version__"), values.get("cuda"), values.get("hip"), "cuda" in values, values.get("xpu"))


def probe(look: Look) -> Facts:
    """All facts under `torch`; absent where it is not installed."""
    file = look.once(_version_py)
    packages = look.once(installed)
    package = packages.value.get("torch") if isinstance(packages, Found) else None
    if not isinstance(file, Found):
        if package is None:
            return all_of(FIELDS, file if isinstance(packages, Found) or isinstance(file, Unreadable) else packages)
        return {"torch.version": Found(package.version, package.path), "torch.cuda": Unreadable(file.why), "torch.arch_list": _CANNOT_TELL}
    told = parse_version_py(file.value)
    version: Fact[Any] = _version(told, package.version if package else None, file.source, package.path if package else "")
    cuda: Fact[Any] = Found(told.cuda, file.source) if told.cuda else Absent(_other_build(told))
    if not told.stated:
        cuda = Unreadable(f"{file.source} does not tell")
    return {"torch.version": version, "torch.cuda": cuda, "torch.arch_list": _CANNOT_TELL}


def _other_build(told: TorchVersion) -> str:
    if told.hip:
        return f"a ROCm build ({told.hip[:60]})"
    return f"an XPU build ({told.xpu[:60]})" if told.xpu else "a CPU build"


def build(look: Look) -> Fact[TorchVersion]:
    """What torch's own file states; Absent where there is no torch."""
    file = look.once(_version_py)
    if isinstance(file, Found):
        return Found(parse_version_py(file.value), file.source)
    packages = look.once(installed)
    present = isinstance(packages, Found) and "torch" in packages.value
    return Unreadable(file.why) if present else file


def cuda_major(look: Look) -> int | None:
    """The major of the CUDA that torch was built with; None where nothing tells."""
    told = look.once(build)
    major = told.value.cuda.partition(".")[0] if isinstance(told, Found) and told.value.cuda else ""
    return int(major) if major.isdecimal() and len(major) < 4 else None


def torch_folder(look: Look) -> Fact[str]:
    """The folder `torch` that is imported."""
    folders = look.once(sites)
    if not isinstance(folders, Found):
        return folders
    place = next((f"{site.path}/torch" for site in folders.value if "torch" in site.names), None)
    return Found(place, place) if place else Absent(f"no torch in {folders.source}")


def conda_build(look: Look) -> Fact[str]:
    """The record of a CUDA build from the project's own conda channel, whose name lists what it was linked with."""
    interpreter = look.once(target)
    if not isinstance(interpreter, Found) or interpreter.value.environment not in ("conda", "pixi"):
        return Absent("no conda environment")
    records = look.system.glob(f"{literal(interpreter.value.prefix)}/conda-meta/pytorch-[0-9]*_cuda[0-9]*_cudnn*.json", 2)
    return Found(records[0], records[0]) if records else Absent("no such build in conda-meta")


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
    folder = look.once(torch_folder)
    return look.text(f"{folder.value}/version.py", 8192) if isinstance(folder, Found) else folder
