"""The JSON files beside a recording's tree, redacted."""

from __future__ import annotations

import shlex

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.port import CommandResult, DiskSpace, HttpAnswer
from envcheck.system.recording_replay import Redacted, writable
from envcheck.system.recording_tree import Tree
from envcheck.system.rooted_files import RecordedAnswer, RecordedCommand, RecordedNvml, RecordedSystem, RecordedVersion

_DENIED = "permission denied"
_NO_ROOM = "left out of the recording, which was full"
_MOST_BYTES = 8 << 20  # of one file's texts; a recording is refused when a file of it is larger than twice that


def environment(told: Redacted) -> dict[str, str]:
    """The variables whose value was looked at; the others decide nothing and may tell much."""
    env = told.visit.variables
    return {told.text(name): writable(told.redactor.variable(name, env[name])) for name in sorted(env.asked)}


def commands(told: Redacted) -> dict[str, RecordedCommand]:
    """Commands by the line that a shell would take."""
    table: dict[str, RecordedCommand] = {}
    left = _MOST_BYTES
    for words, (timeout, fact) in told.visit.commands.items():
        entry = _command(told, fact, timeout)
        left -= len(entry.stdout) + len(entry.stderr)
        table[shlex.join(map(told.text, words))] = entry if left > 0 else RecordedCommand(unreadable=_NO_ROOM)
    return table


def _command(told: Redacted, fact: Fact[CommandResult], timeout: float) -> RecordedCommand:
    if isinstance(fact, Found):
        return RecordedCommand(fact.value.status, told.text(fact.value.stdout), told.text(fact.value.stderr))
    if isinstance(fact, Absent):
        return RecordedCommand(absent=told.text(fact.why))
    if fact.why == f"timed out after {timeout:g} s":
        return RecordedCommand(error="timeout")
    return RecordedCommand(error="permission") if fact.why == _DENIED else RecordedCommand(unreadable=told.text(fact.why))


def nvml(told: Redacted) -> RecordedNvml | None:
    """NVML's report with libcuda's version beside it."""
    report, libcuda = told.visit.report, told.visit.libcuda
    if report is None:
        return None
    plain = told.redactor.value(msgspec.to_builtins(report))
    version = RecordedVersion()
    if isinstance(libcuda, Found):
        version = RecordedVersion(libcuda.value, told.text(libcuda.source))
    elif libcuda is not None:
        why = told.text(libcuda.why)
        version = RecordedVersion(absent=why) if isinstance(libcuda, Absent) else RecordedVersion(unreadable=why)
    return msgspec.convert({**plain, "libcuda_version": version} if libcuda is not None else plain, RecordedNvml)


def answers(told: Redacted) -> dict[str, RecordedAnswer]:
    """What was fetched, by address."""
    table: dict[str, RecordedAnswer] = {}
    left = _MOST_BYTES
    for url, (_, fact) in told.visit.answers.items():
        left -= len(fact.value.body) if isinstance(fact, Found) else 0
        entry = _answer(told, url, fact)
        table[told.text(url)] = entry if left > 0 else RecordedAnswer(error=_NO_ROOM)
    return table


def _answer(told: Redacted, url: str, fact: Fact[HttpAnswer]) -> RecordedAnswer:
    if not isinstance(fact, Found):
        return RecordedAnswer(error=told.text(fact.why))
    answer = fact.value
    body = told.redactor.content(url, answer.body)
    try:
        text, data = body.decode("utf-8"), None
    except UnicodeDecodeError:
        text, data = "", body
    return RecordedAnswer(
        status=answer.status,
        body=text,
        url=told.text(answer.url),
        data=data,
        truncated=answer.truncated,
        source=told.text(fact.source),
        date_ahead_s=answer.date_ahead_s,
    )


def rest(told: Redacted, tree: Tree) -> RecordedSystem:
    """What is no file. Refused files are listed; whatever else differs is found when the recording is played."""
    visit, names = told.visit, told.names()
    refused = {path: fact.why for path, (_, fact) in told.files().items() if isinstance(fact, Unreadable) and path.startswith("/")}
    return RecordedSystem(
        uname=names.value if isinstance(names, Found) else None,
        libc=visit.c_library.value if isinstance(visit.c_library, Found) else None,
        disk=_by_source(told.by_path(visit.spaces)),
        writable=_leaves(told),
        which={told.text(name): told.text(path) if path is not None else None for name, path in sorted(visit.executables.items())},
        unreadable={path: why for path, why in refused.items() if why == _DENIED},
        partial=True,
    )


def _by_source(spaces: dict[str, Fact[DiskSpace]]) -> dict[str, DiskSpace]:
    """Space is told of the folder nearest to the path asked about, which is its source."""
    return {fact.source: fact.value for fact in spaces.values() if isinstance(fact, Found) and fact.source.startswith("/")}


def _leaves(told: Redacted) -> dict[str, bool]:
    found = told.by_path(told.visit.leaves).values()
    return {fact.source: fact.value for fact in found if isinstance(fact, Found) and fact.source.startswith("/")}
