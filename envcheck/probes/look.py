"""One visit to a host: what all its probes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import msgspec

from envcheck.model.cloud import CloudMatcher
from envcheck.model.fact import Fact
from envcheck.model.maker import MakerSigns
from envcheck.model.network import NetworkPlaces
from envcheck.probes.facts import read_line, read_text
from envcheck.system.port import READ_LIMIT, NvmlReport, System

T = TypeVar("T")


class OwnInterpreter(msgspec.Struct, frozen=True):
    """The interpreter running us, as `sys` knows it: saves a start of it when it is the target too."""

    executable: str
    version: str
    prefix: str
    base_prefix: str


class Look:
    """The port, the caller's choices, and every reading that several probes need, made once.

    `full` = also ask what costs a process and decides nothing unless something is wrong; otherwise it is not looked at.
    `network` = the places that may be asked over the network, None = none may.
    """

    def __init__(
        self,
        system: System,
        matchers: tuple[CloudMatcher, ...] = (),
        makers: tuple[MakerSigns, ...] = (),
        python: str | None = None,
        own: OwnInterpreter | None = None,
        *,
        full: bool = False,
        network: NetworkPlaces | None = None,
    ) -> None:
        self.system = system
        self.matchers = matchers
        self.makers = makers
        self.python = python
        self.own = own
        self.full = full
        self.network = network
        self.env: Mapping[str, str] = system.env()
        self._kept: dict[object, object] = {}

    def once(self, reading: Callable[[Look], T]) -> T:
        """The value of `reading`, computed at the first call of the visit."""
        if reading not in self._kept:
            self._kept[reading] = reading(self)
        return cast("T", self._kept[reading])

    def text(self, path: str, limit: int = READ_LIMIT) -> Fact[str]:
        """A file's text."""
        return read_text(self.system, path, limit)

    def line(self, path: str) -> Fact[str]:
        """A file's first line."""
        return read_line(self.system, path)


def nvml(look: Look) -> NvmlReport:
    """What NVML said, asked once a visit."""
    return look.system.nvml()


def uname(look: Look) -> Fact[tuple[str, str, str]]:
    """(system, kernel release, machine)."""
    return look.system.uname()
