"""The proof of a way: the host as it would be afterwards is judged, and what still stands in the way is mended first or ends it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from envcheck.errors import UsageError
from envcheck.model.finding import Finding, Remedy, Severity, Verdict
from envcheck.model.request import Request
from envcheck.model.ways import INTRUSION, Way, WayKind
from envcheck.planning.ways.context import Context
from envcheck.planning.ways.effects import REQUEST, effect_of
from envcheck.planning.ways.patch import patched
from envcheck.rules.check import Judgement, judge

# Clashes of a wheel with the host: other wheels, images, drivers are ways round them, and no remedy beside a way is.
CLASHES = frozenset(
    (
        "driver-too-old-for-cuda",
        "driver-too-old-for-ptx",
        "gpu-too-old",
        "gpu-arch-not-in-vllm-build",
        "gpu-arch-not-in-torch-build",
        "glibc-too-old",
        "no-wheel-for-platform",
        "python-unsupported",
        "wheel-url-missing",
        "container-requires-newer-cuda",
    )
)
_MOST, _EASED = 6, 3
_PACKAGES = ("install-packages", "remove-packages", "install-compiled", "install-vllm-again")
_KINDS: dict[str, WayKind] = {
    "setting": "setting",
    "service": "service",
    "fresh-environment": "environment",
    "other-wheel": "release",
    "container": "image",
    "reboot": "reboot",
    "driver": "driver",
    "hardware": "hardware",
}
_BESIDE: tuple[WayKind, ...] = ("setting", "mend", "environment", "service", "reboot")  # what another way may ask for besides


def kind_of(remedy: Remedy) -> WayKind:
    """Which kind of way a remedy is: what root installs is more than a setting, packages changed in place are a mending."""
    if remedy.note.key.removeprefix("remedy.") in _PACKAGES:
        return "mend"
    if remedy.kind == "setting" and remedy.needs_root:
        return "service"
    return _KINDS[remedy.kind]


def settled(way: Way, context: Context) -> Way | None:
    """The way with its proof, and with what else must be mended for it; None where the host stays blocked."""
    if not way.after and way.asks is None:
        return _hidden(way, context)
    first, after = list(way.first), dict(way.after)
    for _ in range(_MOST):
        judged = _judged(context, after, way.asks)
        if judged is None:
            return None
        found = _next_step(errors(judged.findings), first) or _of_host(way, judged, context, first)
        if judged.verdict is not Verdict.BLOCKED and found is None:
            said = {finding.code for finding in judged.findings}
            left = [*judged.findings, *(finding for finding in context.judgement.findings if finding.code in said)]
            # What the way sets itself, no remedy of a warning sets otherwise.
            beside = [
                step for step in eased(left, first) if not way.after.keys() & (effect_of(step, judged.situation, context.matrix) or {})
            ]
            return _with(way, [*first, *beside], after, judged.verdict)
        if found is None:
            return None
        first.append(found)
        effect = effect_of(found, judged.situation, context.matrix)
        if effect is None:
            rest = _rest(errors(judged.findings), first)
            return None if rest is None else _with(way, rest, after, None)
        after |= effect
    return None


def eased(findings: Iterable[Finding], done: Iterable[Remedy] = ()) -> list[Remedy]:
    """Settings that cure what is left of warnings: they cost nothing beside a way."""
    found: list[Remedy] = []
    for finding in findings:
        if finding.severity is not Severity.WARNING or any(remedy in done for remedy in finding.remedies):
            continue
        step = least(finding.remedies)
        if step is not None and kind_of(step) == "setting" and step not in found:
            found.append(step)
    return found[:_EASED]


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those that block."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def least(remedies: Iterable[Remedy]) -> Remedy | None:
    """The least intrusive remedy that can go along with another way."""
    fit = [remedy for remedy in remedies if kind_of(remedy) in _BESIDE]
    return min(fit, key=lambda remedy: INTRUSION.index(kind_of(remedy)), default=None)


def _hidden(way: Way, context: Context) -> Way | None:
    """A way whose result cannot be said: it is kept where nothing but what it mends, and what else can be mended, is in the way."""
    found = errors(context.judgement.findings)
    own = [one for one in found if one.detail != way.title and not _cures(way, one)]
    rest = _rest(own, list(way.first))
    return None if rest is None else _with(way, rest, {}, None)


def _cures(way: Way, finding: Finding) -> bool:
    return any(cure.note == way.title and cure.commands == way.commands for cure in finding.remedies)


def _next_step(found: list[Finding], done: list[Remedy]) -> Remedy | None:
    """What mends the first error, unless a wheel's clash or something tried already is in the way."""
    if not found or any(finding.code in CLASHES for finding in found):
        return None
    step = least(found[0].remedies)
    return None if step is None or step in done else step


def _of_host(way: Way, judged: Judgement, context: Context, done: list[Remedy]) -> Remedy | None:
    """What mends an error of the host that is no more than a warning seen from inside an image."""
    if way.image is None or judged.verdict is Verdict.BLOCKED:
        return None
    doubted = {finding.code for finding in judged.findings if finding.severity is Severity.WARNING}
    left = [finding for finding in errors(context.judgement.findings) if finding.code in doubted and finding.code not in CLASHES]
    return next((step for finding in left if (step := least(finding.remedies)) is not None and step not in done), None)


def _rest(found: list[Finding], done: list[Remedy]) -> list[Remedy] | None:
    """What mends all errors that are left; None where one has nothing that can go along."""
    steps = list(done)
    for finding in found:
        if finding.code in CLASHES:
            return None
        if any(remedy in steps for remedy in finding.remedies):
            continue
        step = least(finding.remedies)
        if step is None:
            return None
        steps.append(step)
    return steps


def _judged(context: Context, after: dict[str, Any], asks: str | None) -> Judgement | None:
    facts = {path: value for path, value in after.items() if not path.startswith(REQUEST)}
    arguments = {path.removeprefix(REQUEST): value for path, value in after.items() if path.startswith(REQUEST)}
    request = context.request
    asked: Request = msgspec.structs.replace(request, vllm=asks or request.vllm, serve_args={**request.serve_args, **arguments})
    try:
        return judge(patched(context.situation.host, facts), context.matrix, asked, remedies=True)
    except (msgspec.ValidationError, UsageError):
        return None


def _with(way: Way, first: list[Remedy], after: dict[str, Any], proof: Verdict | None) -> Way:
    kinds = [way.kind, *(kind_of(remedy) for remedy in first)]
    root = way.cost.root or any(remedy.needs_root for remedy in first)
    reboot = way.cost.reboot or any(remedy.kind == "reboot" for remedy in first)
    return msgspec.structs.replace(
        way,
        kind=max(kinds, key=INTRUSION.index),
        first=tuple(first),
        after=after,
        proof=proof,
        cost=msgspec.structs.replace(way.cost, root=root, reboot=reboot),
    )
