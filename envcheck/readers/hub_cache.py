"""Models downloaded before, where the hub's and ModelScope's own libraries keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envcheck.model.fact import Found
from envcheck.system.port import System

_REVISION = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_-]+)*")  # no way up


def downloaded(name: str, system: System, revision: str | None = None) -> str | None:
    """The folder of a downloaded model with its `config.json`; None where there is none. `name` = a valid repository name.

    ModelScope's cache holds one revision of a model and does not say which, so it answers only where none is asked for.
    """
    environment = system.env()
    for cache in _hub_caches(environment):
        snapshot = _snapshot(f"{cache}/models--{name.replace('/', '--')}", system, revision)
        if snapshot is not None:
            return snapshot
    for cache in () if revision else _modelscope_caches(environment):
        kept = name.replace(".", "___")  # how ModelScope writes a dot in a folder's name
        for folder in (f"{cache}/models/{kept}", f"{cache}/{kept}", f"{cache}/models/{name}", f"{cache}/{name}"):
            if system.exists(f"{folder}/config.json"):
                return folder
    return None


def downloaded_gguf(name: str, system: System, revision: str | None = None) -> dict[str, str]:
    """The GGUF files of a downloaded repository, each with its path; empty where there are none. `name` = a valid repository name."""
    for cache in _hub_caches(system.env()):
        folder = _snapshot(f"{cache}/models--{name.replace('/', '--')}", system, revision, "")
        places = [path for depth in ("*.gguf", "*/*.gguf") for path in system.glob(f"{folder}/{depth}", 1024)] if folder else []
        if places:
            return {path[len(folder or "") + 1 :]: path for path in places}
    return {}


def _snapshot(repository: str, system: System, revision: str | None, needed: str = "config.json") -> str | None:
    """The folder of the commit that the revision, or else `main`, pointed to when it was downloaded, where it holds what is needed."""
    commit = revision or ""
    if not _REVISION.fullmatch(commit):
        if not _BRANCH.fullmatch(revision or "main"):
            return None
        read = system.read(f"{repository}/refs/{revision or 'main'}", 64)
        commit = read.value.decode("ascii", "replace").strip() if isinstance(read, Found) else ""
    if not _REVISION.fullmatch(commit):
        return None
    folder = f"{repository}/snapshots/{commit}"
    return folder if system.exists(f"{folder}/{needed}".rstrip("/")) else None


def _hub_caches(environment: Mapping[str, str]) -> Iterator[str]:
    if cache := environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE"):
        yield cache.rstrip("/")
    if home := environment.get("HF_HOME"):
        yield f"{home.rstrip('/')}/hub"
    elif home := environment.get("HOME"):
        yield f"{home.rstrip('/')}/.cache/huggingface/hub"


def _modelscope_caches(environment: Mapping[str, str]) -> Iterator[str]:
    if cache := environment.get("MODELSCOPE_CACHE"):
        yield cache.rstrip("/")
    elif home := environment.get("HOME"):
        yield f"{home.rstrip('/')}/.cache/modelscope/hub"
