"""Rules on the Linux kernel: older than the driver, or the libcuda of forward compatibility, takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.versions import driver_version, numbers
from envcheck.rules.build import dotted
from envcheck.rules.make import info, warning
from envcheck.rules.situation import Situation, part, text

# In reports the kernel also stands beside the system's name: `Ubuntu 22.04 (kernel 4.4 el7)`, `container on el7 kernel 3.10`.
_IN_NAME = r"\bkernel\W{0,3}(\d+\.\d+(?:\.\d+)?)"


def kernel_of(situation: Situation) -> tuple[int, ...] | None:
    """The running kernel's version; None = not known."""
    stated = text(situation.host.os, "kernel")
    if not stated:
        name = text(situation.host.os, "name")
        found = re.search(_IN_NAME, name, re.IGNORECASE) if "ernel" in name else None
        stated = found[1] if found else ""
    version = numbers(stated) if stated else None
    return version if version and len(version) > 1 else None


def too_old(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A kernel below what the driver branch in use takes; worth a word where only newer branches ask for a newer one."""
    kernel = kernel_of(situation)
    if kernel is None or situation.wsl or kernel[:2] >= matrix.drivers.highest_kernel_floor:
        return
    compat = driver_version(text(situation.host.libcuda, "version")) if part(situation.host.libcuda, "compat") is True else None
    for used, variant in ((compat, "compat"), (situation.driver, "driver")):
        floor = matrix.drivers.kernel_floor(used.branch) if used else None
        if used and floor and kernel[:2] < floor:
            yield warning("kernel-too-old", variant, kernel=dotted(kernel), needed=dotted(floor), driver=used.raw)
            return
    newest = matrix.drivers.highest_kernel_floor
    branch = next((entry.from_branch for entry in matrix.drivers.file.kernels if numbers(entry.kernel) == newest), None)
    yield info("kernel-too-old", "upgrade", kernel=dotted(kernel), needed=dotted(newest), branch=branch)
