"""What lies between two GPUs, and whether they may read each other's memory."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, UnsetType

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.model.host_parts import GpuPair
from envcheck.probes.driver import NO_DRIVER
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look, nvml
from envcheck.system.port import NvmlGpu, NvmlPair, NvmlReport

FIELDS = ("topology",)
# nvmlGpuTopologyLevel_t
_LINKS = {0: "internal", 10: "single-switch", 20: "multiple-switches", 30: "host-bridge", 40: "node", 50: "system"}
# nvmlGpuP2PStatus_t
_P2P = {
    0: "ok",
    1: "chipset-not-supported",
    2: "gpu-not-supported",
    3: "topology-not-supported",
    4: "disabled-by-regkey",
    5: "not-supported",
    6: "unknown",
}


def probe(look: Look) -> Facts:
    """The list under `topology`, and `topology.<place>.<field>` for each value that could not be had."""
    report = look.once(nvml)
    if not report.pairs:
        return {"topology": _none(report)}
    gpus = {gpu.index: gpu for gpu in report.gpus}
    pairs = [_pair(pair, gpus) for pair in report.pairs]
    gaps = {f"topology.{place}.{field}": gap for place, pair in enumerate(report.pairs) for field, gap in _gaps(pairs[place], pair)}
    return {"topology": Found(pairs, "NVML"), **gaps}


def _none(report: NvmlReport) -> Absent | Unreadable:
    """No pair was read: there is none, or nobody knows."""
    if report.status in NO_DRIVER or (report.status == "ok" and (report.gpu_count or len(report.gpus)) < 2):
        return Absent("fewer than two GPUs that NVML shows")
    if report.status != "ok":
        return Unreadable(f"NVML: {report.status}")
    good = sum(not gpu.lost for gpu in report.gpus)
    return Unreadable("NVML: fewer than two GPUs answer" if good < 2 else "NVML: no pair was read")


def _pair(pair: NvmlPair, gpus: dict[int, NvmlGpu]) -> GpuPair:
    return GpuPair(pair.a, pair.b, _link(pair, gpus), _p2p(pair))


def _p2p(pair: NvmlPair) -> str | UnsetType | None:
    if pair.read is None:
        return None if pair.errors.get("read") == "NotSupported" else UNSET
    return _P2P.get(pair.read, UNSET)


def _link(pair: NvmlPair, gpus: dict[int, NvmlGpu]) -> str | UnsetType | None:
    """NVLink where NVML says so of the pair, or is silent and both are linked to what can only join them; else the way over PCI Express."""
    if pair.nvlink == 0 or (pair.nvlink is None and _joined(pair, gpus)):
        return "nvlink"
    if pair.ancestor is None:
        return None if pair.errors.get("ancestor") == "NotSupported" else UNSET
    return _LINKS.get(pair.ancestor, UNSET)


def _joined(pair: NvmlPair, gpus: dict[int, NvmlGpu]) -> bool:
    """Both hang on switches, or they are the only two and their links lead to a GPU."""
    kinds = [set(gpus[index].nvlink_peers) for index in (pair.a, pair.b) if index in gpus]
    return len(kinds) == 2 and ({"switch"} == kinds[0] == kinds[1] or (len(gpus) == 2 and {"gpu"} == kinds[0] == kinds[1]))


def _gaps(shown: GpuPair, pair: NvmlPair) -> Iterator[tuple[str, Unreadable]]:
    for field, read in (("link", "ancestor"), ("p2p", "read")):
        if getattr(shown, field) is UNSET:
            yield field, Unreadable(f"NVML: {pair.errors.get(read, 'does not say')}")
