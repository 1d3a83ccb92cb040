"""Short readings of facts that a check needs a field or two of: the share of memory that releases take, whether any has a regression.

The records of sizing are two dozen types; making them takes a tenth of a whole check.
"""

import msgspec


class StartDefault(msgspec.Struct, frozen=True, gc=False):
    """The share of GPU memory that a range of releases takes where none is asked for."""

    releases: str
    gpu_memory_utilization: float = 0.9


class StartAccount(msgspec.Struct, frozen=True, gc=False):
    """Whether a range of releases refuses to start where less than its share is free."""

    releases: str
    free_memory_check: bool = False


class RegressionRange(msgspec.Struct, frozen=True, gc=False):
    """Which releases a regression is in, and how grave it is; whom it concerns stands in the whole record."""

    releases: str
    severity: str


class StartFacts(msgspec.Struct, frozen=True, gc=False):
    """Those fields of `matrices/memory.json`; the others are passed over."""

    defaults: list[StartDefault]
    accounting: list[StartAccount]
