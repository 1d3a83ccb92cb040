"""What root types on this host: the distribution's commands, where they are true for it, and none where the host is not ours to change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Remedy
from envcheck.rules.mainland import in_mainland, provider_of
from envcheck.rules.make import remedy
from envcheck.rules.situation import Situation, in_container, part, text

if TYPE_CHECKING:
    from envcheck.matrix.root_steps import System
    from envcheck.rules.driver_branch import Flavour


def install_driver(situation: Situation, matrix: Matrix, key: str = "install-driver") -> Remedy:
    """A branch that serves the GPUs, with commands; without them where the driver is not this system's to install."""
    branch = planned_branch(situation, matrix)
    return remedy("driver", key, *driver_commands(situation, matrix, branch), root=True, branch=branch)


def planned_branch(situation: Situation, matrix: Matrix, needed: int = 0) -> int:
    """The first supported branch, from the one that plans ask for on, that serves every GPU; that one where none is known to."""
    from envcheck.rules.driver_branch import cards_of, serving_branches  # noqa: PLC0415  # only for a driver that will not do

    wanted = max(matrix.policy.planned_driver_branch, needed)
    cards = cards_of(situation, matrix)
    return next(serving_branches(situation, matrix, cards, wanted), wanted)


def driver_commands(
    situation: Situation, matrix: Matrix, branch: int, flavour: Flavour | None = None, *, unconfirmed: bool = False
) -> tuple[str, ...]:
    """Install a branch with the kind of module that the GPUs take, headers first, restart last.

    () inside a container or under WSL, where the host has the driver, and where no way is known; `unconfirmed` = also commands that no
    documentation confirms, for whoever says so beside them.
    """
    if not ours_to_change(situation):
        return ()
    from envcheck.rules.driver_branch import cards_of, flavour_of, kernel_name, on_nvswitch  # noqa: PLC0415  # only for a driver that will not do

    system, cards = system_of(situation, matrix), cards_of(situation, matrix)
    kind, fabric = flavour or flavour_of(cards, matrix), on_nvswitch(situation)
    if system is None or kind is None or ("driver" in system.record.unverified and not unconfirmed):
        return ()
    server = fabric or all(model.kind == "data-center" for model in cards.models)
    lines = system.driver(branch, flavour=kind, server=server, fabric=fabric, kernel=kernel_name(situation))
    if not lines:
        return ()
    return as_root(situation, *lines, *enrolment(situation, system), "sudo reboot")


def enrolment(situation: Situation, system: System) -> tuple[str, ...]:
    """Have the firmware trust the key that DKMS signs with, where Secure Boot is known to be on."""
    return (f"sudo mokutil --import {system.signing_key}",) if situation.host.secure_boot is True and system.signing_key else ()


def toolkit_commands(situation: Situation, matrix: Matrix, engine: str, *, install: bool = True) -> tuple[str, ...]:
    """Install NVIDIA's container toolkit and make an engine (`docker`, `containerd`, `cri-o`, `podman`) know it."""
    system = any_system(situation, matrix)
    lines = system.toolkit() if install and system else ()
    if in_container(situation) or (install and not lines):
        return ()
    if engine == "podman":
        return as_root(situation, *lines, "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml")
    name = engine.replace("-", "")  # both tools write crio
    return as_root(situation, *lines, f"sudo nvidia-ctk runtime configure --runtime={name}", f"sudo systemctl restart {name}")


def renew_toolkit(situation: Situation, matrix: Matrix) -> tuple[str, ...]:
    """Install the newest container toolkit over the one that is there, whose configuration stays."""
    system = None if in_container(situation) else any_system(situation, matrix)
    return as_root(situation, *system.toolkit()) if system else ()


def headers_commands(situation: Situation, matrix: Matrix) -> tuple[str, ...]:
    """Install DKMS and the headers of the running kernel; () where the kernel is not this system's."""
    from envcheck.rules.driver_branch import kernel_name  # noqa: PLC0415  # only for a driver that will not do

    system = any_system(situation, matrix) if ours_to_change(situation) else None
    return as_root(situation, *system.headers(kernel_name(situation))) if system else ()


def fabric_commands(situation: Situation, matrix: Matrix, *, absent: bool) -> tuple[str, ...]:
    """Start the fabric manager, installed first where it is `absent`, in the release of the driver."""
    if in_container(situation):
        return ()
    system, driver = system_of(situation, matrix), situation.driver
    lines = system.fabric_manager(driver.branch) if absent and system and driver else ()
    return as_root(situation, *lines, "sudo systemctl enable --now nvidia-fabricmanager")


def system_of(situation: Situation, matrix: Matrix) -> System | None:
    """The record of this distribution and version, with mirrors where the host stands in mainland China."""
    mainland = in_mainland(situation, provider_of(situation, matrix))
    return matrix.root_steps.system(
        distribution_of(situation, matrix), version_of(situation), situation.arch or "x86_64", mainland=mainland
    )


def any_system(situation: Situation, matrix: Matrix) -> System | None:
    """The same; where the version is not known or has no record, that of the distribution's newest."""
    found = system_of(situation, matrix)
    return found or matrix.root_steps.any_version(distribution_of(situation, matrix), situation.arch or "x86_64")


def distribution_of(situation: Situation, matrix: Matrix) -> str:
    """The os-release `ID`, else what the system's name stands for; "" = not known."""
    os = situation.host.os
    return text(os, "id").lower() or matrix.root_steps.named(text(os, "name")[:200])


def version_of(situation: Situation) -> str:
    """The os-release `VERSION_ID`, else the first number in the system's name; "" = not known."""
    stated = text(situation.host.os, "version")
    found = None if stated else re.search(r"\bV?\d{1,4}(?:\.\d{1,3}){0,2}\b", text(situation.host.os, "name")[:200])
    return stated or (found[0] if found else "")


def ours_to_change(situation: Situation) -> bool:
    """Whether driver and kernel are this system's own: neither a container's host's nor those of Windows."""
    return not situation.wsl and not in_container(situation)


def as_root(situation: Situation, *lines: str) -> tuple[str, ...]:
    """The lines as this user types them: root needs no sudo, and containers seldom have it."""
    root = part(situation.host.limits, "root")
    bare = root is True or (root is None and in_container(situation))
    return tuple(re.sub(r"\bsudo ", "", line) for line in lines) if bare else lines
