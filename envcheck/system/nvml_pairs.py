"""What lies between two GPUs, through nvidia-ml-py. Pure of imports: the module is handed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from envcheck.system.nvml_guard import Guard
from envcheck.system.port import NvmlPair

_MOST = 16  # devices of which every two are asked about
# nvmlGpuP2PCapsIndex_t. As literals: in nvidia-ml-py the constant for reading is a tuple, by a stray comma.
_READ, _NVLINK = 0, 2


def read_pairs(nvml: Any, handles: Mapping[int, Any]) -> Iterator[NvmlPair]:
    """Every two of the first sixteen devices, by their handles; a lost device has none and so is in no pair."""
    for a, b in combinations(sorted(handles)[:_MOST], 2):
        guard = Guard(nvml)
        ends = (handles[a], handles[b])
        yield NvmlPair(
            a,
            b,
            ancestor=guard.read("ancestor", "nvmlDeviceGetTopologyCommonAncestor", *ends),
            read=guard.read("read", "nvmlDeviceGetP2PStatus", *ends, _READ),
            nvlink=guard.read("nvlink", "nvmlDeviceGetP2PStatus", *ends, _NVLINK),
            errors=guard.errors,
        )
