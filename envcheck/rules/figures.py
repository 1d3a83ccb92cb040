"""Figures of the host document as rules may reckon with them."""

from __future__ import annotations

import math

_MOST = float(1 << 40)


def figure(value: object) -> float | None:
    """A finite number that is not negative and below 2**40; anything else is not known."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value < _MOST else None
