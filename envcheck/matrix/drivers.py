"""Records of NVIDIA's driver: known faults, the kernels it takes, the kind of module a GPU needs, the container toolkit beside it."""

from functools import cached_property
from typing import Literal

import msgspec

from envcheck.matrix.records import Record
from envcheck.model.versions import DriverVersion, driver_version, numbers


class DriverFault(Record, frozen=True, kw_only=True):
    """A fault of the drivers from `first` up to, not including, `before`. `effect` names its wording.

    `several_gpus` = it needs more than one; `kinds` = only cards of these kinds (empty: any).
    """

    id: str
    first: str
    before: str
    effect: Literal["peer-access"]
    several_gpus: bool = False
    kinds: list[str] = []


class KernelFloor(Record, frozen=True, kw_only=True):
    """The oldest Linux kernel that driver branches from `from_branch` on take."""

    from_branch: int
    kernel: str


class ModuleKind(Record, frozen=True, kw_only=True):
    """The only kind of NVIDIA's kernel module that drives an architecture."""

    architecture: str
    flavour: Literal["open", "proprietary"]


class ToolkitFloor(Record, frozen=True, kw_only=True):
    """The oldest NVIDIA Container Toolkit that works with driver branches from `from_branch` on; `wsl` = under WSL 2 only."""

    id: str
    from_branch: int
    toolkit: str
    wsl: bool = False


class DriversFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/drivers.json`."""

    faults: list[DriverFault]
    kernels: list[KernelFloor]
    modules: list[ModuleKind]
    toolkits: list[ToolkitFloor]


class Drivers:
    """What is known of drivers by version."""

    def __init__(self, file: DriversFile) -> None:
        self.file = file

    @cached_property
    def _faults(self) -> list[tuple[tuple[int, ...], tuple[int, ...], DriverFault]]:
        pairs = [(driver_version(entry.first), driver_version(entry.before), entry) for entry in self.file.faults]
        return [(first.parsed, before.parsed, entry) for first, before, entry in pairs if first and before]

    def faults(self, driver: DriverVersion) -> list[DriverFault]:
        """The known faults of a driver; one known by its branch alone has only those of the whole branch."""
        return [entry for first, before, entry in self._faults if first <= driver.parsed < before]

    @cached_property
    def _kernels(self) -> list[tuple[int, tuple[int, ...]]]:
        pairs = ((entry.from_branch, numbers(entry.kernel)) for entry in self.file.kernels)
        return sorted(((branch, kernel) for branch, kernel in pairs if kernel), reverse=True)

    def kernel_floor(self, branch: int) -> tuple[int, ...] | None:
        """The oldest kernel that a driver branch takes; None = not known."""
        return next((kernel for first, kernel in self._kernels if branch >= first), None)

    @cached_property
    def highest_kernel_floor(self) -> tuple[int, ...]:
        """The kernel from which on every known branch is taken."""
        return max((kernel for _, kernel in self._kernels), default=())

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {entry.architecture: entry.flavour for entry in self.file.modules}

    def only_module(self, architecture: str) -> str | None:
        """`open` or `proprietary` where an architecture takes no other; None where it takes both."""
        return self._modules.get(architecture)

    def toolkit_floor(self, branch: int, *, wsl: bool) -> str | None:
        """The oldest container toolkit for a driver branch; None where any will do."""
        floors = [entry for entry in self.file.toolkits if branch >= entry.from_branch and (wsl or not entry.wsl)]
        return max(floors, key=lambda entry: entry.from_branch).toolkit if floors else None
