"""What ways that change the host as root have in common: who else notices, what no record knows, what leads to more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.root_steps import Step, System
from envcheck.model.text import Text
from envcheck.planning.ways.context import Context, every_choice
from envcheck.rules.build import Target, dotted, name_of
from envcheck.rules.driver_install import distribution_of, version_of
from envcheck.rules.mainland import provider_of
from envcheck.rules.situation import Situation, in_container, text
from envcheck.rules.survey import Choice

_PTX = "driver-too-old-for-ptx"  # what only a newer libcuda mends in a wheel that runs


def is_shared(situation: Situation, matrix: Matrix) -> bool:
    """Whether others are likely to use the same machine: a rental platform on top of a cloud, or the inside of a container."""
    provider = provider_of(situation, matrix)
    return (
        bool(text(situation.host.cloud, "platform")) or in_container(situation) or (provider is not None and provider.level == "platform")
    )


def leads_to_more(choice: Choice, present: Choice | None) -> bool:
    """Whether a wheel is newer than the one that runs already, or runs whole where that one's kernels are missing in part."""
    if present is None:
        return True
    new, old = choice.judged, present.judged
    if new.release.version != old.release.version:
        return new.release.version > old.release.version
    return any(clash.code == _PTX for clash in old.warnings) and all(clash.code != _PTX for clash in new.warnings)


def opened(context: Context, target: Target) -> Choice | None:
    """The newest wheel of the goal that runs on a changed host and keeps what the user wants kept; one of the index where it does."""
    survey = context.surveyor.survey(target, context.goal, variants=True)
    best = survey.best or next(iter(survey.variants), None)
    if best is None or not _broken(context, best):
        return best
    moved = msgspec.structs.replace(context, judgement=msgspec.structs.replace(context.judgement, target=target))
    return next((one for one in every_choice(moved) if not _broken(context, one)), None)


def _broken(context: Context, choice: Choice) -> bool:
    return bool(context.breaks(choice.judged.release, dotted(choice.python)))


def into_environment(context: Context, choice: Choice) -> dict[str, Any]:
    """The fact that the wheel goes into an environment with another interpreter, where the host's own does not serve or is not wanted."""
    own = context.situation.python
    return {"python.version": dotted(choice.python)} if choice.new_python or (own and own != choice.python) else {}


def asked_as(choice: Choice) -> str:
    """The wheel as `check --vllm` names it, e.g. `0.32.0+cu129`."""
    return name_of(choice.judged.release, choice.judged.build)


def doubts(situation: Situation, matrix: Matrix, system: System | None, step: Step, *, commands: bool) -> Iterator[Text]:
    """That no commands are known and where the official page is, or that nobody's documentation confirms them."""
    told = {"system": " ".join((distribution_of(situation, matrix) or "Linux", version_of(situation))).strip()[:80]}
    if not commands:
        yield Text("way.why.no-commands", told | {"page": system.record.page}) if system else Text("way.why.no-system", told)
    elif system and step in system.record.unverified:
        yield Text("way.why.unverified", told | {"page": system.record.page})
