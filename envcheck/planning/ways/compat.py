"""A newer libcuda over the driver that is there: NVIDIA's forward-compatibility package, for data-center GPUs alone."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from envcheck.matrix.root_steps import CompatPackage
from envcheck.model.text import Text
from envcheck.model.versions import DriverVersion, numbers
from envcheck.model.ways import Cost, Way
from envcheck.planning.ways.context import Context
from envcheck.planning.ways.root import asked_as, doubts, into_environment, is_shared, leads_to_more, opened
from envcheck.rules.driver_branch import Cards, cards_of, known_release
from envcheck.rules.driver_install import as_root, system_of
from envcheck.rules.situation import Situation, in_container, part
from envcheck.rules.survey import Choice


def compat(context: Context) -> Iterator[Way]:
    """A way for the first package that opens the request, and for each later one that leads to more.

    Only where every GPU takes it (804 otherwise), where the package is made for drivers of this branch (803 otherwise), and where root can
    install: never under WSL, nor in a container without root.
    """
    situation, matrix = context.situation, context.matrix
    cards = cards_of(situation, matrix)
    if situation.driver is None or not context.request.pins.root or not _takes_it(situation, cards):
        return
    reached = context.best
    for package in matrix.root_steps.compat(situation.driver.branch):
        release = known_release(matrix, package.branch, cards)
        choice = _opened(context, package, release) if release else None
        if release is not None and choice is not None and leads_to_more(choice, reached):
            way = _way(context, package, release, choice)
            if way is not None:
                reached = choice
                yield way


def _takes_it(situation: Situation, cards: Cards) -> bool:
    """Whether all GPUs are known to take forward compatibility, and this user may install packages here."""
    every = bool(cards.models) and len(situation.gpus) > 0 and all(gpu.model is not None for gpu in situation.gpus)
    served = every and all(model.forward_compatibility and model.kind == "data-center" for model in cards.models)
    inside = in_container(situation) and part(situation.host.limits, "root") is not True
    return served and not situation.wsl and not inside


def _opened(context: Context, package: CompatPackage, release: DriverVersion) -> Choice | None:
    """The wheel that a package lets run."""
    return opened(context, msgspec.structs.replace(context.target, driver=release, driver_cuda=numbers(package.cuda)))


def _way(context: Context, package: CompatPackage, release: DriverVersion, choice: Choice) -> Way | None:
    """None where no repository of this distribution has the package."""
    situation, matrix = context.situation, context.matrix
    system = system_of(situation, matrix)
    install = system.compat(package.cuda) if system else ()
    if not install or situation.driver is None:
        return None
    folder = f"/usr/local/cuda-{package.cuda}/compat"
    return Way(
        kind="compat",
        title=Text(
            "way.compat", {"package": f"cuda-compat-{package.cuda.replace('.', '-')}", "vllm": asked_as(choice), "cuda": package.cuda}
        ),
        commands=(*as_root(situation, *install), f"export LD_LIBRARY_PATH={folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"),
        stack=context.stack_of(choice),
        cost=Cost(root=True, shared=is_shared(situation, matrix) and not in_container(situation)),
        after={"libcuda": {"path": f"{folder}/libcuda.so.1", "version": release.raw, "compat": True}} | into_environment(context, choice),
        asks=asked_as(choice),
        why=(
            Text("way.why.compat", {"cuda": package.cuda, "branch": situation.driver.branch, "driver": situation.driver.raw}),
            *doubts(situation, matrix, system, "compat", commands=True),
        ),
    )
