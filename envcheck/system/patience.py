"""How long what hangs may keep us waiting, all of it together: a driver, a file server and commands may hang at the same time."""

from __future__ import annotations

_TOGETHER_S = 4.2  # with what the visit itself takes, the answer comes within 5 s
_FOR_NVML_S = 1.7  # kept back as long as the driver was not asked: it knows what nobody else does


class Patience:
    """What is left to wait, in seconds. Only what was waited for in vain counts; a quick answer costs nothing."""

    def __init__(self) -> None:
        self._left_s = _TOGETHER_S - _FOR_NVML_S

    def limit(self, wanted_s: float, least_s: float) -> float:
        """How long to wait for something: as long as wanted, as far as it is left, and `least_s` in any case."""
        return min(wanted_s, max(self._left_s, least_s))

    def waited(self, seconds: float) -> None:
        """So long was waited in vain."""
        self._left_s -= seconds

    def release(self) -> None:
        """The driver's turn: what was kept back for it may be used."""
        self._left_s += _FOR_NVML_S
