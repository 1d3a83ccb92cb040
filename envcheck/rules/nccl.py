"""Rules on settings of NCCL that cannot work, or that give away what the hardware has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.rules.figures import figure
from envcheck.rules.make import info, remedy, warning
from envcheck.rules.situation import Situation, part
from envcheck.rules.spread import spread_of

_CODE = "nccl-misconfigured"
_ON = ("1", "true")


def settings(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Variables of NCCL, and the limit on locked memory that its network needs."""
    environment = known(situation.host.environment)
    chosen = {name: value.strip() for name, value in environment.items() if name.startswith("NCCL_")} if environment else {}
    spread = spread_of(situation)
    if spread.several is False and spread.one_host:
        return
    if chosen:
        yield from _buffer(chosen, matrix)
        yield from _ways_off(situation, chosen)
        yield from _adapters(situation, chosen, one_host=spread.one_host)
        if chosen.get("NCCL_CUMEM_ENABLE", "") in _ON:
            yield info(_CODE, "cumem")
    if not spread.one_host:
        yield from _locked(situation, matrix)


def _buffer(chosen: Mapping[str, str], matrix: Matrix) -> Iterator[Finding]:
    """A buffer for each channel and peer so large that registering it fails."""
    asked = chosen.get("NCCL_BUFFSIZE", "")
    if asked[:20].isdecimal() and len(asked) <= 20 and int(asked) / (1 << 20) > matrix.thresholds["nccl-buffer-mib"]:
        size = round(int(asked) / (1 << 20))
        yield warning(
            _CODE, "buffer", size_mib=size, remedies=(remedy("setting", "unset-nccl", "unset NCCL_BUFFSIZE", name="NCCL_BUFFSIZE"),)
        )


def _ways_off(situation: Situation, chosen: Mapping[str, str]) -> Iterator[Finding]:
    """Ways between GPUs that are switched off: both of one host, or NVLink that is there."""
    if len(situation.usable_gpus) < 2:
        return
    peers_off = chosen.get("NCCL_P2P_DISABLE", "") in _ON or chosen.get("NCCL_P2P_LEVEL", "").upper() in ("LOC", "0")
    if not peers_off:
        return
    if chosen.get("NCCL_SHM_DISABLE", "") in _ON:
        off = remedy("setting", "unset-nccl", "unset NCCL_SHM_DISABLE", name="NCCL_SHM_DISABLE")
        yield warning(_CODE, "no-way", remedies=(off,))
    elif all(gpu.told.nvlink is True or (gpu.model is not None and gpu.model.nvswitch_board) for gpu in situation.usable_gpus):
        name = "NCCL_P2P_DISABLE" if "NCCL_P2P_DISABLE" in chosen else "NCCL_P2P_LEVEL"
        yield warning(_CODE, "nvlink-off", name=name, remedies=(remedy("setting", "unset-nccl", f"unset {name}", name=name),))


def _adapters(situation: Situation, chosen: Mapping[str, str], *, one_host: bool) -> Iterator[Finding]:
    """Network adapters that are named and not there: several hosts then talk over TCP or not at all."""
    asked = chosen.get("NCCL_IB_HCA", "")
    ports = part(situation.host.interconnect, "ports")
    if not asked or asked[0] == "^" or not isinstance(ports, list) or one_host:
        return
    names = [entry.strip(" =").split(":")[0] for entry in asked[:400].split(",")]
    there = [port.device for port in ports]
    if not any(device.startswith(name) for name in names if name for device in there):
        yield warning(_CODE, "adapter", asked=asked[:80], there=", ".join(there[:8]) or "–")


def _locked(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Memory that may be locked: RDMA registers its buffers there."""
    ports = part(situation.host.interconnect, "ports")
    limit = figure(part(situation.host.limits, "memlock_mib"))
    if not isinstance(ports, list) or not ports or limit is None:
        return
    if limit < matrix.thresholds["memlock-mib"] and (known(situation.host.environment) or {}).get("NCCL_IB_DISABLE", "") not in _ON:
        yield warning(_CODE, "memlock", limit_mib=round(limit, 1), remedies=(remedy("setting", "memlock", "ulimit -l unlimited"),))
