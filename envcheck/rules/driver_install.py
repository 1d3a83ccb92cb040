"""How a driver comes onto this host: the distribution's commands, where they are true for it."""

from __future__ import annotations

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Remedy
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, text


def install_driver(situation: Situation, matrix: Matrix, key: str = "install-driver") -> Remedy:
    """The branch that plans ask for; without commands where the driver is not this system's to install."""
    branch = matrix.policy.planned_driver_branch
    return remedy("driver", key, *driver_commands(situation, matrix, branch), root=True, branch=branch)


def driver_commands(situation: Situation, matrix: Matrix, branch: int) -> tuple[str, ...]:
    """The distribution's commands for a branch with open kernel modules; none inside a container or under WSL, where the host has it."""
    if situation.wsl or in_container(situation):
        return ()
    return matrix.drivers.install_commands(distribution_of(situation), branch)


def distribution_of(situation: Situation) -> str:
    """The os-release `ID`, else the first word of the system's name; "" = not known."""
    os = situation.host.os
    return text(os, "id").lower() or text(os, "name").lower().partition(" ")[0]


def in_container(situation: Situation) -> bool:
    """Whether this is the inside of a container, by its kind."""
    return bool(text(situation.host.container, "kind"))
