"""What a remedy changes of a host, as facts by dotted path; None where that cannot be said, so that its result cannot be judged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Remedy
from envcheck.model.host import known
from envcheck.rules.situation import Situation

Effect = dict[str, Any]
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
REQUEST = "request.serve_args."  # paths that change the request's arguments instead of the host


def effect_of(remedy: Remedy, situation: Situation, matrix: Matrix) -> Effect | None:
    """The facts after a remedy; settings that are exported or unset are read from its commands."""
    told = _TOLD.get(remedy.note.key.removeprefix("remedy."))
    if told is not None:
        return told(remedy.note.params, situation, matrix)
    return _variables(remedy.commands, situation)


def _variables(commands: tuple[str, ...], situation: Situation) -> Effect | None:
    """`export A=1 B=2` and `unset C`, where that is all there is."""
    found: Effect = {}
    for line in commands:
        try:
            words = shlex.split(line)
        except ValueError:
            return None
        if words[:1] == ["export"] and words[1:] and all(re.match(rf"{_NAME}=", word) for word in words[1:]):
            if any("$" in word for word in words):
                return None  # what it becomes depends on what it was
            found |= {f"environment.{name}": value for name, _, value in (word.partition("=") for word in words[1:])}
        elif words[:1] == ["unset"] and words[1:] and all(re.fullmatch(_NAME, word) for word in words[1:]):
            found |= _unset(words[1:], situation)
        else:
            return None
    return found or None


def _unset(names: list[str], situation: Situation) -> Effect:
    there = known(situation.host.environment) or {}
    return {f"environment.{name}": None for name in names if name in there} or {"environment": dict(there)}


def _argument(name: str, value: str) -> Callable[[Mapping[str, Any], Situation, Matrix], Effect | None]:
    return lambda params, situation, matrix: {REQUEST + name: value}


def _fabric(params: Mapping[str, Any], situation: Situation, matrix: Matrix) -> Effect:
    return {"fabric.manager": "running", "fabric.state": "completed"}


def _shared_memory(params: Mapping[str, Any], situation: Situation, matrix: Matrix) -> Effect:
    return {"memory.shm_mib": int(matrix.thresholds["shm-recommended-mib"])}


def _without_compat(params: Mapping[str, Any], situation: Situation, matrix: Matrix) -> Effect | None:
    """The loader takes the driver's own libcuda; not of an image, which puts its own first again."""
    if situation.driver is None or situation.image:
        return None
    found: Effect = {"libcuda": {"version": situation.driver.raw, "compat": False}}
    path = (known(situation.host.environment) or {}).get("LD_LIBRARY_PATH", "")
    left = [folder for folder in path.split(":") if not folder.rstrip("/").endswith("/compat")]
    return found | ({"environment.LD_LIBRARY_PATH": ":".join(left)} if path else {})


# By the text of a remedy, where its commands do not tell.
_TOLD: dict[str, Callable[[Mapping[str, Any], Situation, Matrix], Effect | None]] = {
    "start-fabric-manager": _fabric,
    "shm-container": _shared_memory,
    "shm-kubernetes": _shared_memory,
    "shm-host": _shared_memory,
    "drop-compat": _without_compat,
    "dtype-half": _argument("dtype", "half"),
    "dtype-single": _argument("dtype", "float32"),
    "kv-cache-auto": _argument("kv_cache_dtype", "auto"),
}
