"""Rules on GPUs that work together: access to each other's memory, and the shared memory that stands in for it."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.model.host_parts import GpuPair
from envcheck.model.text import Param
from envcheck.rules.figures import figure
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.places import wheres
from envcheck.rules.situation import GpuFact, Situation, part, text
from envcheck.rules.spread import spread_of

_OFF = ("1", "true")
_JOINED = ("nvlink", "internal")  # pairs whose traffic never meets the bridges above them


def peer_access(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs that may hang when they read each other's memory, or cannot: vLLM then goes through host memory."""
    gpus = situation.usable_gpus
    if len(gpus) < 2:
        return
    several = spread_of(situation).several
    if several is False:
        return
    pairs = _pairs(situation, gpus)
    down = [gpu for gpu in gpus if gpu.told.nvlinks == 0 and gpu.model is not None and gpu.model.nvswitch_board]
    if down:
        yield warning(
            "p2p-broken", "links", gpus=wheres(down), remedies=(remedy("service", "fabric-status", "nvidia-smi nvlink --status"),)
        )
    elif _redirected(situation, gpus, pairs):
        yield warning("p2p-broken", remedies=_around(situation))
    elif several and (apart := next((pair for pair in pairs if known(pair.p2p) not in (None, "ok", "unknown")), None)):
        server = all(gpu.model is not None and gpu.model.kind == "data-center" for gpu in gpus)
        # Consumer boards have no peer access by design; of data-centre boards it is taken away by someone.
        make, key = (warning, "taken") if server else (info, "none")
        yield make("p2p-broken", key, a=apart.a, b=apart.b, reason=known(apart.p2p))


def _pairs(situation: Situation, gpus: tuple[GpuFact, ...]) -> list[GpuPair]:
    """What is known of pairs of GPUs that are both shown."""
    shown = {gpu.index for gpu in gpus}
    return [pair for pair in known(situation.host.topology) or () if pair.a in shown and pair.b in shown]


def _redirected(situation: Situation, gpus: tuple[GpuFact, ...], pairs: list[GpuPair]) -> bool:
    """Whether peer access over PCI Express is on and goes through an IOMMU that translates, by bridges that redirect it."""
    pci = situation.host.pci
    if part(pci, "iommu") != "translated" or part(pci, "acs_redirect") is not True or _off(situation, "NCCL_P2P_DISABLE"):
        return False
    if pairs:
        return any(known(pair.p2p) == "ok" and known(pair.link) not in _JOINED for pair in pairs)
    # Without the pairs: linked boards do not use the bus, consumer boards have no peer access.
    return not any(gpu.model is not None and (gpu.model.nvswitch_board or gpu.model.kind == "consumer") for gpu in gpus)


def _off(situation: Situation, name: str) -> bool:
    return (known(situation.host.environment) or {}).get(name, "").strip().lower() in _OFF


def _around(situation: Situation) -> tuple[Remedy, ...]:
    setting = remedy("setting", "no-peer-access", "export NCCL_P2P_DISABLE=1")
    if situation.wsl or text(situation.host.container, "kind"):
        return (setting,)
    return setting, remedy("reboot", "no-redirect", root=True)


def shared_memory(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Shared memory too small for ranks that talk through it, as in a container with its runtime's default."""
    shm = figure(part(situation.host.memory, "shm_mib"))
    if shm is None or shm > matrix.thresholds["shm-recommended-mib"]:
        return
    spread, gpus = spread_of(situation), situation.usable_gpus
    if spread.several is False or (spread.several is None and len(gpus) < 2):
        return
    params: dict[str, Param] = {"shm_mib": round(shm), "wanted_mib": round(matrix.thresholds["shm-recommended-mib"])}
    ways = tuple(_larger(situation))
    if shm > matrix.thresholds["shm-needed-mib"]:
        yield info("shm-too-small", "low", **params)
    elif spread.several and not _linked(situation, gpus):
        yield error("shm-too-small", "detail", ranks=spread.ranks, remedies=ways, **params)
    else:
        yield warning("shm-too-small", "several", remedies=ways, **params)


def _linked(situation: Situation, gpus: tuple[GpuFact, ...]) -> bool:
    """Whether the GPUs reach each other directly, so that little goes through shared memory."""
    pairs = _pairs(situation, gpus)
    if pairs:
        return all(known(pair.p2p) == "ok" for pair in pairs)
    return bool(gpus) and all(gpu.told.nvlink is True or (gpu.model is not None and gpu.model.nvswitch_board) for gpu in gpus)


def _larger(situation: Situation) -> Iterator[Remedy]:
    kind = text(situation.host.container, "kind").lower()
    if "kube" in kind:
        yield remedy("container", "shm-kubernetes")
    elif kind in ("docker", "podman", "containerd", "cri-o") or situation.image:
        yield remedy("container", "shm-container", "docker run --shm-size 8g …")
    elif known(situation.host.container) is None and situation.host.container is None:
        yield remedy("setting", "shm-host", "sudo mount -o remount,size=8G /dev/shm", root=True)
    else:
        yield remedy("container", "shm-container")
