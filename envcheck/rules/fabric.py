"""Rules on NVSwitch hosts: without a completed fabric CUDA does not start at all."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import Situation, part, text


def fabric(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """An NVSwitch host whose fabric is not up: CUDA fails with error 802 while NVML looks healthy."""
    host = situation.host
    switch = part(host.fabric, "nvswitch")
    board = len(situation.usable_gpus) > 1 and all(gpu.model is not None and gpu.model.nvswitch_board for gpu in situation.usable_gpus)
    if switch is False or (switch is None and not board):
        return
    manager, state = text(host.fabric, "manager"), text(host.fabric, "state")
    if state == "completed" or (manager == "running" and state in ("", "unsupported")):
        return
    from envcheck.rules.driver_install import fabric_commands  # noqa: PLC0415  # only for a fabric that does not work

    commands = fabric_commands(situation, matrix, absent=manager == "absent")
    start = remedy("service", "start-fabric-manager", *commands, root=True)
    down, failed = manager in ("stopped", "absent"), state.startswith("failed")
    if down or failed or state in ("not-started", "in-progress"):
        key = "service" if down else "progress" if state == "in-progress" else "detail"
        # Inside a container the host's service cannot be seen, so its absence there proves nothing.
        sure = failed or state in ("not-started", "in-progress") or not text(host.container, "kind")
        yield (error if sure else warning)("fabric-manager-not-ready", key, remedies=(start,), manager=manager, state=state)
