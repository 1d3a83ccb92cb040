"""The interpreter of a planned environment: what the host's own lacks, and what must then come before the commands for pip."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.model.stack import Stack
from envcheck.model.text import Param, Text
from envcheck.rules.situation import Situation, part, text


def lacks_headers(situation: Situation, stack: Stack | None) -> bool:
    """Whether the interpreter that a stack would go into is the host's, and has no Python.h: then uv is to bring one that has."""
    return stack is not None and not stack.new_python and part(situation.host.python, "headers") is False


def interpreter_notes(situation: Situation, stack: Stack, findings: Iterable[Finding], index: str | None) -> Iterator[Text]:
    """What must be done where uv is not at hand; `index` = the package index's mirror. Nothing where uv is, which needs none of it."""
    if stack.new_python or _has_uv(situation):
        return
    params: dict[str, Param] = {"python": stack.python}
    if part(situation.host.python, "can_make_venv") is False:
        command = _uv_by_pip(situation, index)
        yield Text("plan.note.no-venv-pip", {**params, "command": command}) if command else Text("plan.note.no-venv", params)
    if lacks_headers(situation, stack):
        command = next(_headers(findings), "")
        yield Text("plan.note.headers", {**params, "command": command}) if command else Text("plan.note.headers-unnamed", params)


def _has_uv(situation: Situation) -> bool:
    """Whether uv is on PATH; where that is not known, whether it made the environment at hand."""
    tools = known(situation.host.tools)
    return bool(tools["uv"]) if tools and "uv" in tools else part(situation.host.python, "environment") == "uv"


def _uv_by_pip(situation: Situation, index: str | None) -> str:
    """How pip brings uv without root; "" where there is no pip, or the distribution keeps it from installing for itself."""
    tools = known(situation.host.tools) or {}
    if part(situation.host.python, "externally_managed") is True or ("pip" in tools and not (tools["pip"] or tools.get("pip3"))):
        return ""
    python = text(situation.host.python, "executable") or "python3"
    return shlex.join((python, "-m", "pip", "install", "--user", *(("--index-url", index) if index else ()), "uv"))


def _headers(findings: Iterable[Finding]) -> Iterator[str]:
    """The distribution's command for the headers, as the rule on them found it."""
    for finding in findings:
        yield from (command for way in finding.remedies if way.note.key == "remedy.install-headers" for command in way.commands)
        yield from _headers(finding.consequences)
