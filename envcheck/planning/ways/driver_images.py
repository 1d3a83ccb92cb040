"""A container image under another driver branch: the last way to a release that no wheel brings to this system, whatever the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.model.text import Text
from envcheck.model.versions import DriverVersion
from envcheck.model.ways import Way
from envcheck.planning.ways.images import images
from envcheck.planning.ways.patch import patched
from envcheck.planning.ways.root import is_shared
from envcheck.rules.build import dotted
from envcheck.rules.check import target_of
from envcheck.rules.driver_branch import cards_of, flavour_of, known_release, serving_branches
from envcheck.rules.driver_install import driver_commands, ours_to_change
from envcheck.rules.situation import read_situation, text

if TYPE_CHECKING:
    from envcheck.planning.ways.context import Context


def driver_images(context: Context) -> Iterator[Way]:
    """The image that the smallest step to a newer branch opens, keeping every wish. Nothing where that step is not the user's."""
    situation, matrix, pins = context.situation, context.matrix, context.request.pins
    driver, cards = situation.driver, cards_of(situation, matrix)
    flavour = flavour_of(cards, matrix)
    if not (pins.root and pins.container) or driver is None or flavour is None or not cards.capabilities or not ours_to_change(situation):
        return
    for branch in serving_branches(situation, matrix, cards, driver.branch + 1):
        release = known_release(matrix, branch, cards)
        shown = matrix.driver_max_cuda(release) if release else None
        if release is None or shown is None:
            continue
        after = _after(context, release, dotted(shown), flavour)
        way = next((one for one in images(_moved(context, after)) if not one.breaks), None)
        if way is not None and way.image is not None:
            yield msgspec.structs.replace(
                way,
                kind="driver",
                title=Text(
                    "way.driver-image",
                    {"branch": branch, "flavour": flavour, "image": way.image.reference, "vllm": way.image.release},
                ),
                commands=(*driver_commands(situation, matrix, branch, flavour), *way.commands),
                cost=msgspec.structs.replace(way.cost, root=True, reboot=True, shared=is_shared(situation, matrix)),
                after={**after, **way.after},
                breaks=("driver",) if pins.driver else (),
                why=(Text("way.why.driver-image", {"vllm": way.image.release, "image": way.image.reference}), *way.why),
            )
            return


def _after(context: Context, release: DriverVersion, shown: str, flavour: str) -> dict[str, Any]:
    """The driver's facts after the restart, as far as the host states any."""
    host = context.situation.host
    after: dict[str, Any] = {"driver.version": release.raw, "driver.cuda": shown}
    stated = {
        "driver.library_version": (host.driver, "library_version", release.raw),
        "driver.flavour": (host.driver, "flavour", flavour),
        "kernel_modules.flavour_on_disk": (host.kernel_modules, "flavour_on_disk", flavour),
        "kernel_modules.nvidia_on_disk": (host.kernel_modules, "nvidia_on_disk", release.raw),
        "libcuda.version": (host.libcuda, "version", release.raw),
    }
    return after | {path: value for path, (holder, name, value) in stated.items() if text(holder, name)}


def _moved(context: Context, after: dict[str, Any]) -> Context:
    """The same question of the host with that driver."""
    situation = read_situation(patched(context.situation.host, after), context.matrix, context.request)
    judgement = msgspec.structs.replace(context.judgement, situation=situation, target=target_of(situation))
    return msgspec.structs.replace(context, judgement=judgement)
