"""Another driver branch: the smallest supported one that opens what is wanted and serves every GPU of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import GpuModel
from envcheck.model.finding import Remedy
from envcheck.model.host import known
from envcheck.model.text import Text
from envcheck.model.versions import DriverVersion
from envcheck.model.ways import Cost, Way
from envcheck.planning.ways.context import Context
from envcheck.planning.ways.root import asked_as, doubts, into_environment, is_shared, leads_to_more, opened
from envcheck.planning.ways.unseen import after_install, shown_target, unseen
from envcheck.rules.build import Target, dotted
from envcheck.rules.driver_branch import (
    Cards,
    Flavour,
    cards_of,
    flavour_of,
    kernel_too_old,
    known_release,
    last_branch,
    serving_branches,
)
from envcheck.rules.driver_install import any_system, driver_commands, ours_to_change, system_of
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, in_container, part, text
from envcheck.rules.survey import Choice


class _Wanted(msgspec.Struct, frozen=True):
    """What is asked of a driver: the GPUs to serve, how, and what decides about wheels then.

    `unseen` = GPUs that are yet to be shown; `broken` = the driver at hand does not drive those listed; `lowest` = the first branch tried.
    """

    cards: Cards
    flavour: Flavour
    target: Target
    reached: Choice | None
    unseen: tuple[GpuModel, ...]
    broken: bool
    lowest: int


def drivers(context: Context) -> Iterator[Way]:
    """A way for the first branch that opens the request, and for each later one that leads to more. Nothing where root is ruled out."""
    wanted = _wanted(context)
    if wanted is None:
        return
    situation, matrix, reached = context.situation, context.matrix, wanted.reached
    for branch in serving_branches(situation, matrix, wanted.cards, wanted.lowest):
        release = known_release(matrix, branch, wanted.cards)
        choice = _opened(context, wanted.target, release)
        if release is not None and choice is not None and leads_to_more(choice, reached):
            reached = choice
            yield _way(context, wanted, branch, release, choice)


def _wanted(context: Context) -> _Wanted | None:
    """None where root is ruled out, no GPU is known, or no driver serves all of them."""
    situation, matrix = context.situation, context.matrix
    cards = cards_of(situation, matrix)
    flavour, hidden = flavour_of(cards, matrix), unseen(situation, matrix)
    target = shown_target(context.target, hidden) if hidden else context.target
    if not context.request.pins.root or not target.capabilities or flavour is None:
        return None
    broken, dropped = _wrong_module(situation, matrix, cards), _dropped(situation, matrix, cards)
    again = bool(hidden) or broken or dropped  # then a branch not newer than the present one may do
    present = situation.driver.branch if situation.driver else 0
    lowest = 0 if dropped else present if again else present + 1
    return _Wanted(cards, flavour, target, None if again else context.best, hidden, broken or dropped, lowest)


def _wrong_module(situation: Situation, matrix: Matrix, cards: Cards) -> bool:
    """Whether the kind of module at hand is one that a GPU does not take, and NVML does not show that it works all the same."""
    only = {matrix.drivers.only_module(model.architecture) for model in cards.models} - {None}
    stated = text(situation.host.driver, "flavour") or text(situation.host.kernel_modules, "flavour_on_disk")
    return bool(only and stated and stated not in only) and text(situation.host.driver, "nvml") != "ok"


def _dropped(situation: Situation, matrix: Matrix, cards: Cards) -> bool:
    """Whether the driver at hand serves a GPU's generation no more."""
    last = last_branch(cards, matrix)
    newer = last is not None and situation.driver is not None and situation.driver.branch > last
    return newer and text(situation.host.driver, "nvml") != "ok"


def _opened(context: Context, target: Target, release: DriverVersion | None) -> Choice | None:
    """The wheel that a driver lets run."""
    shown = context.matrix.driver_max_cuda(release) if release else None
    if release is None or shown is None:
        return None
    return opened(context, msgspec.structs.replace(target, driver=release, driver_cuda=shown))


def _way(context: Context, wanted: _Wanted, branch: int, release: DriverVersion, choice: Choice) -> Way:
    situation, matrix, flavour = context.situation, context.matrix, wanted.flavour
    commands = driver_commands(situation, matrix, branch, flavour, unconfirmed=True)
    pinned = context.request.pins.driver
    if wanted.unseen:
        after = after_install(situation, matrix, release, flavour, wanted.unseen)
    else:
        after = _after(situation, matrix, release, flavour, mends=wanted.broken)
    return Way(
        kind="driver",
        title=Text(
            f"way.driver.{_place(situation)}{'-pinned' if pinned else ''}", {"branch": branch, "vllm": asked_as(choice), "flavour": flavour}
        ),
        commands=commands,
        stack=context.stack_of(choice),
        cost=Cost(root=not situation.wsl, reboot=True, shared=is_shared(situation, matrix)),
        first=_first(situation),
        after=after | into_environment(context, choice),
        asks=asked_as(choice),
        breaks=("driver",) if pinned else (),
        why=tuple(_why(situation, matrix, wanted.cards, branch, commands)),
    )


def _place(situation: Situation) -> str:
    """Whose the driver is."""
    return "wsl" if situation.wsl else "container" if in_container(situation) else "host"


def _after(situation: Situation, matrix: Matrix, release: DriverVersion, flavour: str, *, mends: bool) -> dict[str, Any]:
    """The facts of the host after the restart: all parts of the driver are of one release."""
    host, shown = situation.host, matrix.driver_max_cuda(release)
    after: dict[str, Any] = {"driver.version": release.raw, "driver.cuda": dotted(shown or ()) or None}
    if text(host.driver, "library_version"):
        after["driver.library_version"] = release.raw
    if text(host.driver, "flavour"):
        after["driver.flavour"] = flavour
    if mends and text(host.driver, "nvml"):
        after["driver.nvml"] = "ok"
    if text(host.kernel_modules, "flavour_on_disk"):
        after["kernel_modules.flavour_on_disk"] = flavour
    if text(host.kernel_modules, "nvidia_on_disk"):
        after["kernel_modules.nvidia_on_disk"] = release.raw
    if text(host.libcuda, "version"):
        after["libcuda.version"] = release.raw
    if part(host.libcuda, "compat") is True:
        after["libcuda.compat"] = False
    path = (known(host.environment) or {}).get("LD_LIBRARY_PATH", "")
    if _names_compat(path):
        after["environment.LD_LIBRARY_PATH"] = ":".join(folder for folder in path.split(":") if not _names_compat(folder))
    return after


def _names_compat(path: str) -> bool:
    return any("cuda" in folder and folder.rstrip("/").endswith("/compat") for folder in path[:4096].split(":"))


def _first(situation: Situation) -> tuple[Remedy, ...]:
    """A forward-compatibility libcuda of the old driver must not come before the new driver's own."""
    path = (known(situation.host.environment) or {}).get("LD_LIBRARY_PATH", "")
    return (remedy("setting", "drop-compat"),) if part(situation.host.libcuda, "compat") is True or _names_compat(path) else ()


def _why(situation: Situation, matrix: Matrix, cards: Cards, branch: int, commands: tuple[str, ...]) -> Iterator[Text]:
    record, last = matrix.branch(branch), last_branch(cards, matrix)
    if branch == last:
        yield Text("way.why.last-branch", {"branch": branch, "date": record.end_of_life if record else None})
    else:
        yield Text("way.why.smallest-branch", {"branch": branch, "date": record.end_of_life if record else None})
    if is_shared(situation, matrix):
        yield Text("way.why.shared-driver")
    if not ours_to_change(situation):
        return
    system = system_of(situation, matrix) or any_system(situation, matrix)
    yield from doubts(situation, matrix, system, "driver", commands=bool(commands))
    if commands and situation.host.secure_boot is True:
        yield Text("way.why.secure-boot")
    if kernel_too_old(situation, matrix, branch):
        floor = matrix.drivers.kernel_floor(branch)
        yield Text("way.why.kernel-too-old", {"branch": branch, "needed": dotted(floor or ())})
