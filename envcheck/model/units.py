"""Units. GiB (2**30 bytes) and GB (10**9) differ by 7 %: every name that holds memory ends in its unit."""

from __future__ import annotations

KIB = 1024
MIB = 1024**2
GIB = 1024**3


def gib(n_bytes: float) -> float:
    """Bytes as GiB."""
    return n_bytes / GIB
