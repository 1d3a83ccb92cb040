"""Rules on a planned server's exposure: who reaches it, what protects it, which back doors are open, whose code it runs.

What vLLM offers is judged only as far as the request and the environment state it; a plan listens on the loopback.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from envcheck.matrix.advisories import KeyGuard
from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.host import known
from envcheck.model.text import Param
from envcheck.model.version_range import version_range
from envcheck.rules.causes import RANK
from envcheck.rules.make import finding, remedy
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.rules.planned import Planned

DEV_MODE = "VLLM_SERVER_DEV_MODE"
PICKLE = "VLLM_ALLOW_INSECURE_SERIALIZATION"
LORA = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
_BACK_DOORS = (DEV_MODE, PICKLE, LORA)
_LONGEST = 60  # characters of an argument that are shown


class Problem(msgspec.Struct, frozen=True):
    """One hole: the wording that names it, and how it is closed."""

    variant: str
    severity: Severity
    params: dict[str, Param]
    way: Remedy


def server_exposed(situation: Situation, matrix: Matrix, version: Version | None) -> Iterator[Finding]:
    """A server that others reach without protection, or that has a back door; `version` of vLLM, None = not known."""
    environment = known(situation.host.environment) or {}
    if not situation.request.serve_args and not any(name in environment for name in _BACK_DOORS):
        return
    from envcheck.rules.planned import Planned  # noqa: PLC0415  # a check without a request never needs it

    planned = Planned(situation, matrix)
    problems = sorted(_problems(planned, matrix, version), key=lambda problem: RANK[problem.severity])
    if not problems:
        return
    first = problems[0]
    ways: list[Remedy] = []
    for problem in problems:
        ways += [problem.way] if problem.way not in ways else []
    found = finding("server-exposed", first.severity, first.variant, remedies=tuple(ways), **first.params)
    yield msgspec.structs.replace(found, evidence={**found.evidence, "problems": [problem.variant for problem in problems]})


def _problems(planned: Planned, matrix: Matrix, version: Version | None) -> Iterator[Problem]:
    address = str(planned.args.get("host") or "")[:_LONGEST]
    if planned.exposed:
        yield from _reachable(planned, matrix, version, address)
        if planned.switch("grpc") or planned.args.get("grpc_port"):
            yield Problem("grpc", Severity.WARNING, {"address": address}, remedy("setting", "no-grpc"))
    yield from _back_doors(planned)
    if planned.args.get("api_key"):
        severity = Severity.WARNING if planned.exposed else Severity.INFO
        yield Problem("key-visible", severity, {}, _key_by_file())


def _reachable(planned: Planned, matrix: Matrix, version: Version | None, address: str) -> Iterator[Problem]:
    loopback = remedy("setting", "listen-on-loopback")
    if not planned.has_key():
        yield Problem("open", Severity.WARNING, {"address": address}, loopback)
        return
    guard = key_guard(matrix, version) if version else None
    if version is None or guard is None:
        return
    holes = [entry for entry in matrix.advisories.open_in("vllm", version) if entry.grave and "api_key" in entry.advisory.conditions]
    if holes:
        hole = holes[0].advisory
        params: dict[str, Param] = {"address": address, "vllm": str(version), "id": hole.name, "fixed": hole.fixed}
        yield Problem("key-bypassed", Severity.WARNING, params, remedy("setting", "advisory-proxy-auth", ids=(hole.name,)))
    else:
        params = {"guarded": tuple(guard.guarded), "open": tuple(guard.open), "vllm": str(version)}
        yield Problem("key-partial", Severity.INFO, params, remedy("setting", "proxy-routes", guarded=tuple(guard.guarded)))


def key_guard(matrix: Matrix, version: Version) -> KeyGuard | None:
    """What the API key guards in a release."""
    guards = matrix.advisories.file.key_guards
    return next((guard for guard in guards if version_range(guard.releases).contains(Version(version.public))), None)


def _back_doors(planned: Planned) -> Iterator[Problem]:
    """Switches of the environment that hand out more than answers. Behind the loopback they are the owner's own business."""
    severity = Severity.INFO if planned.exposed is False else Severity.WARNING
    if planned.in_environment(DEV_MODE):
        yield Problem("dev-mode", severity, {}, _unset(DEV_MODE))
    if planned.in_environment(PICKLE):
        yield Problem("pickle", severity, {}, _unset(PICKLE))
    if planned.in_environment(LORA) and planned.switch("enable_lora") is not False:
        yield Problem("runtime-lora", severity, {}, _unset(LORA))


def _unset(name: str) -> Remedy:
    return remedy("setting", "close-back-door", f"unset {name}", name=name)


def _key_by_file() -> Remedy:
    return remedy("setting", "key-by-file", 'export VLLM_API_KEY="$(cat ~/.config/vllm-api-key)"')


def _is_commit(revision: object) -> bool:
    """Whether a revision names one state for ever; a branch or a tag can be moved."""
    return isinstance(revision, str) and 7 <= len(revision) <= _LONGEST and all(char in "0123456789abcdef" for char in revision.lower())


def trust_remote_code(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The model's repository runs its own Python code on this host; pinned to a revision, or from a folder, at least always the same."""
    args = situation.request.serve_args
    if not args or "trust_remote_code" not in args:
        return
    from envcheck.rules.planned import is_on  # noqa: PLC0415  # a check without a request never needs it

    if not is_on(args["trust_remote_code"]):
        return
    model = (situation.request.model or "?")[:100]
    if model.startswith(("/", "./", "../", "~")) or _is_commit(args.get("code_revision") or args.get("revision")):
        yield finding("trust-remote-code", Severity.INFO, "pinned", model=model)
    else:
        ways = (remedy("setting", "pin-code"),)
        yield finding("trust-remote-code", Severity.WARNING, "detail", remedies=ways, model=model)
