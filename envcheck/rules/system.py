"""Rules on the operating system: the project's wheels with CUDA are for Linux alone."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import Situation, text
from envcheck.rules.spellings import foreign_system

_SHOWN = 80


def not_linux(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Windows or macOS. A container there runs Linux, and a vLLM with a label of its own is somebody else's build for that system."""
    os = situation.host.os
    name = text(os, "name") or text(os, "id")
    if situation.wsl or situation.glibc or not foreign_system(name) or known(situation.host.container) is not None:
        return
    windows = "windows" in name.lower()
    ways = (remedy("container", "windows-subsystem", "wsl --install"),) if windows else ()
    params = {"system": name[:_SHOWN]}
    if windows and "+" in situation.installed_raw and not situation.from_image:
        yield warning("no-wheel-for-platform", "foreign-build", remedies=ways, vllm=situation.installed_raw[:_SHOWN], **params)
    else:
        yield error("no-wheel-for-platform", "system", remedies=(*ways, remedy("hardware", "linux-host")), **params)
