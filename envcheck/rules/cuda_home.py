"""CUDA_HOME, which builds and run-time compilation take as one folder without looking at it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from envcheck.model.finding import Finding, Severity
from envcheck.model.host import known
from envcheck.rules.make import finding, remedy
from envcheck.rules.situation import Situation, part, text

_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_SHELLS = ('"', "'", "~", "$")  # what a shell takes away, and nobody else
_SHOWN = 200


def malformed(situation: Situation, *, needed: bool, may: bool, toolkit: str) -> Iterator[Finding]:
    """A value that is no folder with a toolkit.

    `needed` = something is compiled, `may` = some models have something compiled; `toolkit` = a folder that would do, "" = none known.
    """
    variable, value = _value(situation)
    key = _fault(situation, value) if value else None
    if key is None or (key == "no-nvcc" and not (needed and toolkit)):
        return
    command = f"export {variable}={shlex.quote(toolkit)}" if toolkit else f"unset {variable}"
    way = remedy("setting", "set-cuda-home" if toolkit else "unset-cuda-home", command, path=toolkit, variable=variable)
    # What is no path at all is a slip, and worth a warning before a model meets it; a folder that is gone may be of long ago.
    severity = Severity.WARNING if needed or (may and key not in ("absent", "no-nvcc")) else Severity.INFO
    yield finding("cuda-home-malformed", severity, key, remedies=(way,), variable=variable, value=value[:_SHOWN])


def _value(situation: Situation) -> tuple[str, str]:
    told = situation.host.cuda_home
    if value := text(told, "value"):
        named = text(told, "variable")
        return named if named in _VARIABLES else "CUDA_HOME", value
    environment = known(situation.host.environment) or {}
    return next(((name, environment[name]) for name in _VARIABLES if environment.get(name)), ("CUDA_HOME", ""))


def _fault(situation: Situation, value: str) -> str | None:
    """What is wrong with it, as the name of a wording; None = nothing that is known."""
    plain = value.rstrip("/")
    if ":" in value:
        return "list"
    if value.startswith(_SHELLS):
        return "quoted"
    if plain.endswith(("/bin", "/bin/nvcc")):
        return "bin"
    if not value.startswith("/"):
        return "relative"
    if part(situation.host.cuda_home, "exists") is False:
        return "absent"
    return "no-nvcc" if part(situation.host.cuda_home, "nvcc") is False else None
