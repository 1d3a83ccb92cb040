"""The ways out of a wheel's clash, from the least to the most intrusive."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.model.finding import Remedy
from envcheck.model.stack import Clash
from envcheck.rules.build import Judged, Target, dotted, name_of
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, only_visible
from envcheck.rules.survey import Surveyor


def clash_remedies(clash: Clash, situation: Situation, target: Target, surveyor: Surveyor) -> tuple[Remedy, ...]:
    """What lets a wheel run in spite of a clash, or which other one does."""
    if clash.code == "python-unsupported":
        python = surveyor.matrix.policy.planned_python
        return (remedy("fresh-environment", "newer-python", f"uv venv --python {python}", python=python),)
    if clash.code == "driver-too-old-for-ptx" and clash.severity == "warning":
        # The wheel runs; only the driver makes it whole.
        branch = str(clash.detail.params.get("branch") or "")
        commands = _commands(situation, surveyor, int(branch)) if branch.isdecimal() else ()
        return (remedy("driver", "upgrade-driver", *commands, root=True, driver=branch),)
    if clash.code in ("driver-too-old-for-cuda", "driver-too-old-for-ptx"):
        return (*_running(target, surveyor), *_driver(situation, target, surveyor))
    if clash.code in ("glibc-too-old", "no-wheel-for-platform"):
        found = _whole(target, surveyor, clash.code) if clash.severity == "warning" else _running(target, surveyor)
        return (*tuple(found)[:1], remedy("container", "use-image"))
    if clash.code in ("gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build"):
        runs = tuple(_running(target, surveyor))[:1] or tuple(_on_some(situation, target, surveyor))
        return runs or tuple(_driver(situation, target, surveyor)) or (remedy("hardware", "other-gpu"),)
    return ()


def _running(target: Target, surveyor: Surveyor) -> Iterator[Remedy]:
    """The index's newest release that runs, and a wheel of the release page that is newer still."""
    survey = surveyor.survey(target, variants=True)
    if survey.best:
        yield remedy("other-wheel", "release", vllm=survey.best.judged.release.raw)
    if survey.variants:
        newest = survey.variants[0].judged
        if survey.best is None or newest.release.version > survey.best.judged.release.version:
            yield _variant(newest)


def _variant(judged: Judged) -> Remedy:
    return remedy("other-wheel", "variant", vllm=name_of(judged.release, judged.build), cuda=dotted(judged.build.cuda or ()))


def _whole(target: Target, surveyor: Surveyor, code: str) -> Iterator[Remedy]:
    """Wheels of the release page that run without this clash even as a warning; the index's newest has it."""
    for choice in surveyor.survey(target, variants=True).variants:
        if all(clash.code != code for clash in choice.judged.warnings):
            yield _variant(choice.judged)


def _on_some(situation: Situation, target: Target, surveyor: Surveyor) -> Iterator[Remedy]:
    """Where GPUs differ, those of them that the newest release runs on."""
    if len(target.capabilities) < 2:
        return
    alone = {one: surveyor.survey(msgspec.structs.replace(target, capabilities=(one,))).best for one in target.capabilities}
    running = [(best.judged.release.version, one) for one, best in alone.items() if best]
    if not running:
        return
    _, capability = max(running)
    best = alone[capability]
    chosen = [gpu for gpu in situation.usable_gpus if gpu.capability == capability]
    if best and chosen:
        yield remedy("setting", "release-on-some", only_visible(situation, chosen), vllm=best.judged.release.raw, name=chosen[0].name)


def _driver(situation: Situation, target: Target, surveyor: Surveyor) -> Iterator[Remedy]:
    """Driver floors that open a release newer than what runs, never past the last branch that serves the GPU."""
    best = surveyor.survey(target).best
    ends = [last for capability in target.capabilities if (last := surveyor.matrix.last_branch(capability)) is not None]
    for floor, choice in surveyor.opening_drivers(target):
        opened = choice.judged.release
        if best is not None and opened.version <= best.judged.release.version:
            continue
        commands = _commands(situation, surveyor, floor.branch)
        if ends:
            yield remedy("driver", "upgrade-driver-within", *commands, root=True, driver=floor.raw, last=min(ends), vllm=opened.raw)
        else:
            yield remedy("driver", "upgrade-driver-opens", *commands, root=True, driver=floor.raw, vllm=opened.raw)


def _commands(situation: Situation, surveyor: Surveyor, needed: int) -> tuple[str, ...]:
    """The distribution's commands for the first supported branch from the one that is needed on."""
    from envcheck.rules.driver_install import driver_commands, planned_branch  # noqa: PLC0415  # most hosts need no other driver

    return driver_commands(situation, surveyor.matrix, planned_branch(situation, surveyor.matrix, needed))
