"""The ways out of a wheel's clash, from the least to the most intrusive."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.finding import Remedy
from envcheck.model.plan import Clash
from envcheck.rules.build import Target, dotted, name_of
from envcheck.rules.make import remedy
from envcheck.rules.survey import Surveyor


def clash_remedies(clash: Clash, target: Target, surveyor: Surveyor) -> tuple[Remedy, ...]:
    """What lets a wheel run in spite of a clash, or which other one does."""
    if clash.code == "python-unsupported":
        python = surveyor.matrix.policy.planned_python
        return (remedy("fresh-environment", "newer-python", f"uv venv --python {python}", python=python),)
    if clash.code == "driver-too-old-for-ptx" and clash.severity == "warning":
        # The wheel runs; only the driver makes it whole.
        return (remedy("driver", "upgrade-driver", root=True, driver=clash.detail.params.get("branch")),)
    if clash.code in ("driver-too-old-for-cuda", "driver-too-old-for-ptx"):
        return tuple(_driver(target, surveyor))
    if clash.code in ("glibc-too-old", "no-wheel-for-platform"):
        return (*_release_that_runs(target, surveyor), remedy("container", "use-image"))
    if clash.code in ("gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build"):
        return tuple(_release_that_runs(target, surveyor)) or (remedy("hardware", "other-gpu"),)
    return ()


def _release_that_runs(target: Target, surveyor: Surveyor) -> Iterator[Remedy]:
    best = surveyor.survey(target).best
    if best:
        yield remedy("other-wheel", "release", vllm=best.judged.release.raw)


def _driver(target: Target, surveyor: Surveyor) -> Iterator[Remedy]:
    survey = surveyor.survey(target, variants=True)
    if survey.best:
        yield remedy("other-wheel", "release", vllm=survey.best.judged.release.raw)
    if survey.variants:
        newest = survey.variants[0].judged
        yield remedy("other-wheel", "variant", vllm=name_of(newest.release, newest.build), cuda=dotted(newest.build.cuda or ()))
    for floor, choice in surveyor.opening_drivers(target):
        opened = choice.judged.release
        if survey.best is None or opened.version > survey.best.judged.release.version:
            yield remedy("driver", "upgrade-driver-opens", root=True, driver=floor.raw, vllm=opened.raw)
