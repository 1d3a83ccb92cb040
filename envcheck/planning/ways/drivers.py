"""Another driver branch: the smallest supported one that opens what is wanted and serves every GPU of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Remedy
from envcheck.model.host import known
from envcheck.model.text import Text
from envcheck.model.versions import DriverVersion
from envcheck.model.ways import Cost, Way
from envcheck.planning.ways.root import asked_as, doubts, is_shared, leads_to_more
from envcheck.rules.build import dotted
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
from envcheck.rules.driver_install import any_system, driver_commands, in_container, ours_to_change, system_of
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, part, text
from envcheck.rules.survey import Choice

if TYPE_CHECKING:
    from envcheck.planning.ways.context import Context


def drivers(context: Context) -> Iterator[Way]:
    """A way for the first branch that opens the request, and for each later one that leads to more. Nothing where root is ruled out."""
    situation, matrix = context.situation, context.matrix
    cards = cards_of(situation, matrix)
    flavour = flavour_of(cards, matrix)
    if not context.request.pins.root or not context.target.capabilities or flavour is None:
        return
    reached: Choice | None = context.best
    for branch in serving_branches(situation, matrix, cards):
        if situation.driver is not None and branch <= situation.driver.branch:
            continue
        release = known_release(matrix, branch, cards)
        choice = _opened(context, branch, release)
        if choice is not None and leads_to_more(choice, reached):
            reached = choice
            yield _way(context, cards, flavour, branch, release, choice)


def _opened(context: Context, branch: int, release: DriverVersion | None) -> Choice | None:
    """The wheel that a branch lets run."""
    record = context.matrix.branch(branch)
    shown = context.matrix.driver_max_cuda(release) if release else None
    if release is None or record is None or shown is None:
        return None
    target = msgspec.structs.replace(context.target, driver=release, driver_cuda=shown)
    survey = context.surveyor.survey(target, context.goal, variants=True)
    return survey.best or next(iter(survey.variants), None)


def _way(context: Context, cards: Cards, flavour: Flavour, branch: int, release: DriverVersion | None, choice: Choice) -> Way:
    situation, matrix = context.situation, context.matrix
    commands = driver_commands(situation, matrix, branch, flavour)
    pinned = context.request.pins.driver
    params = {"branch": branch, "vllm": asked_as(choice), "flavour": flavour}
    return Way(
        kind="driver",
        title=Text(f"way.driver.{_place(situation)}{'-pinned' if pinned else ''}", params),
        commands=commands,
        stack=context.stack_of(choice),
        cost=Cost(root=not situation.wsl, reboot=True, shared=is_shared(situation, matrix)),
        first=_first(situation),
        after=_after(situation, matrix, release, flavour) if release else {},
        asks=asked_as(choice),
        breaks=("driver",) if pinned else (),
        why=tuple(_why(situation, matrix, cards, branch, commands)),
    )


def _place(situation: Situation) -> str:
    """Whose the driver is."""
    return "wsl" if situation.wsl else "container" if in_container(situation) else "host"


def _after(situation: Situation, matrix: Matrix, release: DriverVersion, flavour: str) -> dict[str, Any]:
    """The facts of the host after the restart: all parts of the driver are of one release."""
    host, shown = situation.host, matrix.driver_max_cuda(release)
    after: dict[str, Any] = {"driver.version": release.raw, "driver.cuda": dotted(shown or ()) or None}
    if text(host.driver, "library_version"):
        after["driver.library_version"] = release.raw
    if text(host.driver, "flavour"):
        after["driver.flavour"] = flavour
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
    yield from doubts(situation, system, "driver", commands=bool(commands))
    if commands and situation.host.secure_boot is True:
        yield Text("way.why.secure-boot")
    if kernel_too_old(situation, matrix, branch):
        floor = matrix.drivers.kernel_floor(branch)
        yield Text("way.why.kernel-too-old", {"branch": branch, "needed": dotted(floor or ())})
