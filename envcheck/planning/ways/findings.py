"""The remedies of findings as ways, where what blocks is no clash of a wheel: a service, a setting, packages that do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.finding import Remedy, Severity
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.model.ways import Cost, Way
from envcheck.planning.ways.context import Context
from envcheck.planning.ways.effects import effect_of
from envcheck.planning.ways.prove import CLASHES, errors, kind_of
from envcheck.planning.ways.root import is_shared
from envcheck.rules.situation import in_container

_ELSEWHERE = ("environment", "release", "driver", "hardware")  # kinds that other enumerators offer in full


def mended(context: Context, stack: Stack | None, *, warned: bool = False) -> Iterator[Way]:
    """A way for each remedy of the first error that is no clash; with `warned`, of the first warning where there is no error.

    `stack` = what would be served then.
    """
    found = errors(context.judgement.findings)
    if warned and not found:
        found = [finding for finding in context.judgement.findings if finding.severity is Severity.WARNING]
    for finding in found:
        if finding.code in CLASHES:
            continue
        if not finding.remedies:
            # What is to be done stands in its own sentence.
            yield Way(kind="service", title=finding.detail, stack=stack, why=(Text("way.why.finding", {"code": finding.code}),))
        for remedy in finding.remedies:
            yield _way(context, remedy, stack, finding.code)
        return


def whole(context: Context) -> bool:
    """Whether nothing but such errors blocks."""
    found = errors(context.judgement.findings)
    return bool(found) and all(finding.code not in CLASHES for finding in found)


def _way(context: Context, remedy: Remedy, stack: Stack | None, code: str) -> Way:
    situation, matrix = context.situation, context.matrix
    kind = kind_of(remedy)
    changes_host = remedy.needs_root or kind in ("service", "reboot", "driver")
    return Way(
        kind=kind,
        title=remedy.note,
        commands=remedy.commands,
        stack=stack,
        cost=Cost(
            root=remedy.needs_root,
            reboot=kind in ("reboot", "driver"),
            shared=changes_host and is_shared(situation, matrix) and not in_container(situation),
        ),
        after=effect_of(remedy, situation, matrix) or {},
        asks=context.goal if context.request.vllm else None,
        breaks=("driver",) if kind == "driver" and context.request.pins.driver else (),
        why=(Text("way.why.finding", {"code": code}),),
    )
