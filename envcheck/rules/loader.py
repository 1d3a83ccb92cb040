"""Rules on libraries that come before the wheels' own: folders of LD_LIBRARY_PATH, files of LD_PRELOAD."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.host import known
from envcheck.model.host_parts import LoaderFolder
from envcheck.model.versions import numbers
from envcheck.rules.build import dotted
from envcheck.rules.make import finding, remedy, warning
from envcheck.rules.situation import Situation, part

if TYPE_CHECKING:
    from envcheck.matrix.toolchain import LoaderConflict

_CODE = "library-path-pollution"
_MOST = 64  # entries of a variable that are looked at
_SHOWN = 200
# Patterns are compiled when first used.
_FILE = r"(lib[A-Za-z-]+)\.so(?:\.(\d[\d.]*))?$"
_FOLDER = r"\bcuda[-_/]?v?(\d{1,2}\.\d{1,2})\b"
_OWN = ("/site-packages/", "/dist-packages/")  # the wheels' own folders: naming those is the cure


class _Wanted(msgspec.Struct, frozen=True):
    """The torch whose libraries are meant: its release, and by record key what its libraries' versions are compared with."""

    torch: Version
    label: str
    versions: dict[str, tuple[int, ...]]


def pollution(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """CUDA libraries of another release that the loader finds before those that torch came with."""
    folders = known(situation.host.loader_folders)
    environment = known(situation.host.environment) or {}
    if not folders and not (folders is None and (environment.get("LD_LIBRARY_PATH") or environment.get("LD_PRELOAD"))):
        return
    wanted = _wanted(situation, matrix)
    if wanted is None:
        return
    if folders is not None:
        found = next(_among(situation, matrix, folders, wanted), None)
    else:
        found = next(_named(situation, matrix, environment, wanted), None)
    if found is not None:
        yield found


def _wanted(situation: Situation, matrix: Matrix) -> _Wanted | None:
    """The torch at hand, else the one that the release asked about pins; conda's keeps its libraries elsewhere and is left out."""
    from envcheck.rules.target_environment import in_conda  # noqa: PLC0415  # few environments are wrong

    torch = situation.torch
    if torch is not None:
        version, cuda = torch.version, torch.cuda
        if version is None or not cuda or version.is_prerelease or in_conda(situation):
            return None
        record = matrix.torch(version.base_version)
    else:
        pin = matrix.matching(situation.request.vllm)[0].torch_pin if situation.request.vllm else None
        record = matrix.torch(pin) if pin else None
        build = record.build(situation.arch or "x86_64") if record else None
        if record is None or build is None or build.cuda is None:
            return None
        version, cuda = record.version, build.cuda
    versions = {"cuda": cuda[:2]}
    if record is not None:
        told = (("cudnn", record.record.cudnn), ("nccl", record.record.nccl))
        versions |= {key: found for key, text in told if text and (found := numbers(text))}
    return _Wanted(Version(version.base_version), f"torch {version.public}", versions)


def _among(situation: Situation, matrix: Matrix, folders: list[LoaderFolder], wanted: _Wanted) -> Iterator[Finding]:
    """The gravest conflict of the folders that were looked into."""
    conflicts = [
        (conflict, folder, library)
        for folder in folders[:_MOST]
        if folder.named_by in ("LD_LIBRARY_PATH", "LD_PRELOAD") and not _is_own(folder.path)
        for conflict in matrix.toolchain.conflicts(wanted.torch, folder.named_by)
        for library in folder.libraries
    ]
    conflicts.sort(key=lambda found: found[0].severity)  # `error` comes before `warning`
    for conflict, folder, library in conflicts:
        if not library.startswith(f"{conflict.library}.so") or _passed_by(situation, conflict, folder):
            continue
        present = _clash(conflict, library, folder.path, wanted)
        if present is None:
            continue
        params = {
            "library": conflict.library if present else library[:_SHOWN],
            "folder": folder.path[:_SHOWN],
            "present": dotted(present) if present else "?",
            "needed": dotted(wanted.versions.get(conflict.follows, ())),
            "torch": wanted.label,
            "variable": folder.named_by,
        }
        sure = conflict.severity == "error" and bool(present)
        key = "preloaded" if folder.named_by == "LD_PRELOAD" else "unversioned" if not present else "detail"
        severity = Severity.ERROR if sure else Severity.WARNING
        yield finding(_CODE, severity, key, remedies=_ways(situation, folder.named_by, folder.path), **params)


def _is_own(folder: str) -> bool:
    return any(part in f"{folder}/" for part in _OWN)


def _passed_by(situation: Situation, conflict: LoaderConflict, folder: LoaderFolder) -> bool:
    """Whether it is known that another copy of this library is the one loaded."""
    if conflict.follows == "cuda":
        return False
    copies = part(getattr(situation.host, conflict.follows), "copies")
    winner = next((copy for copy in copies if known(copy.wins) is True), None) if isinstance(copies, list) else None
    return winner is not None and not winner.path.startswith(f"{folder.path.rstrip('/')}/")


def _clash(conflict: LoaderConflict, library: str, folder: str, wanted: _Wanted) -> tuple[int, ...] | None:
    """The version of the library where it does harm, () where its version cannot be told; None where it does none."""
    needed = wanted.versions.get(conflict.follows)
    if needed is None:
        return None
    name = re.search(_FILE, library)
    version = numbers(name[2]) if name and name[2] else None
    major = version[0] if version else None
    # NCCL's file name never changes its first number, the other libraries' follow their release's.
    if major is not None and conflict.follows != "nccl" and major != needed[0]:
        return None
    if version is None or len(version) < 2:
        told = re.search(_FOLDER, folder) if conflict.follows == "cuda" else None
        version = numbers(told[1]) if told else None
    if version is None:
        return ()
    if version[0] != needed[0]:
        return None
    length = min(len(version), len(needed), 2 if conflict.follows == "cuda" else 3)
    older = version[:length] < needed[:length]
    return version if older or (conflict.differs == "other" and version[:length] != needed[:length]) else None


def _named(situation: Situation, matrix: Matrix, environment: dict[str, str], wanted: _Wanted) -> Iterator[Finding]:
    """Where nobody looked into the folders: a toolkit's folder that its name calls older than torch's CUDA."""
    conflicts = [entry for entry in matrix.toolchain.conflicts(wanted.torch, "LD_LIBRARY_PATH") if entry.follows == "cuda"]
    needed = wanted.versions["cuda"]
    for entry in environment.get("LD_LIBRARY_PATH", "")[: _MOST * _SHOWN].split(":")[:_MOST]:
        told = re.search(_FOLDER, entry) if conflicts and "cuda" in entry and not _is_own(entry) else None
        version = numbers(told[1]) if told else None
        if version is None or version[0] != needed[0] or version[:2] >= needed or entry.rstrip("/").endswith("/compat"):
            continue
        params = {"folder": entry[:_SHOWN], "present": dotted(version), "needed": dotted(needed), "torch": wanted.label}
        params |= {"library": conflicts[0].library}
        yield warning(_CODE, "path", remedies=_ways(situation, "LD_LIBRARY_PATH", entry), **params)


def _ways(situation: Situation, variable: str, folder: str) -> tuple[Remedy, ...]:
    """The variable without the folder; what else is in it stays."""
    value = (known(situation.host.environment) or {}).get(variable, "")[: _MOST * _SHOWN]
    kept = [entry for entry in re.split(r"[:\s]" if variable == "LD_PRELOAD" else ":", value) if entry and not _same(entry, folder)]
    command = f"export {variable}={shlex.quote(':'.join(kept))}" if kept and len(kept) < _MOST else f"unset {variable}"
    return (remedy("setting", "drop-from-loader-path", command, variable=variable, folder=folder[:_SHOWN]),)


def _same(entry: str, folder: str) -> bool:
    plain = folder.rstrip("/")
    return entry.rstrip("/") == plain or entry.startswith(f"{plain}/lib")
