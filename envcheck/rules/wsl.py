"""Rules on the Windows Subsystem for Linux: Windows has the driver, Linux only its libraries."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import Situation, in_container, part, text

_OWN = "/usr/lib/wsl/"  # where Windows shows its driver's libraries


def shadowed(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A libcuda of a Linux driver, or a toolkit's stub, before the one that Windows shows."""
    if not situation.wsl or in_container(situation):  # the container toolkit mounts Windows' libraries where Linux' would be
        return
    libcuda = situation.host.libcuda
    path = text(libcuda, "path")
    if part(libcuda, "compat") is True or not path:  # a forward-compatibility one has a rule of its own
        return
    if part(libcuda, "stub") is True or not path.startswith(_OWN):
        steps = (
            remedy("setting", "wsl-libraries-first", f"export LD_LIBRARY_PATH={_OWN}lib:$LD_LIBRARY_PATH"),
            remedy("driver", "remove-linux-driver", root=True),
        )
        yield error("wsl-driver-shadowed", path=path[:200], remedies=steps)


def limits(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """NCCL between several GPUs; page-locked memory, which vLLM does without there."""
    if not situation.wsl:
        return
    count = len(situation.usable_gpus)
    if count > 1:
        yield warning("wsl-limits", count=count)
    elif count:
        yield info("wsl-limits", "pinned")
