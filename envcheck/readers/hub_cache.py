"""Models downloaded before, where the hub's and ModelScope's own libraries keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envcheck.model.fact import Found
from envcheck.system.port import System

_REVISION = re.compile(r"[0-9a-f]{40}")


def downloaded(name: str, system: System) -> str | None:
    """The folder of a downloaded model with its `config.json`; None where there is none. `name` = a valid repository name."""
    environment = system.env()
    for cache in _hub_caches(environment):
        snapshot = _snapshot(f"{cache}/models--{name.replace('/', '--')}", system)
        if snapshot is not None:
            return snapshot
    for cache in _modelscope_caches(environment):
        for folder in (f"{cache}/models/{name}", f"{cache}/{name}"):
            if system.exists(f"{folder}/config.json"):
                return folder
    return None


def _snapshot(repository: str, system: System) -> str | None:
    """The revision that `main` pointed to when it was downloaded."""
    read = system.read(f"{repository}/refs/main", 64)
    revision = read.value.decode("ascii", "replace").strip() if isinstance(read, Found) else ""
    if not _REVISION.fullmatch(revision):
        return None
    folder = f"{repository}/snapshots/{revision}"
    return folder if system.exists(f"{folder}/config.json") else None


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
