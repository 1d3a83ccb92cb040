"""Records of what root does on a distribution: driver, headers, container toolkit, forward compatibility, compiler; all commands."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

import msgspec

from envcheck.matrix.records import Arch, Record

Step = Literal["headers", "driver", "fabric", "toolkit", "compat", "compiler"]
PLACEHOLDERS = frozenset(
    ("branch", "server", "folder", "machine", "cuda", "python", "python_flat", "cuda_repository", "toolkit_repository", "epel")
)
_MACHINES = {"x86_64": "x86_64", "aarch64": "sbsa"}  # folders of NVIDIA's repository for servers


class PackageOrigin(Record, frozen=True, kw_only=True):
    """Where packages come from; its id is a placeholder of commands. `mainland` = a copy that mainland China reaches better."""

    id: str
    url: str
    mainland: str | None = None


class StepFamily(Record, frozen=True, kw_only=True):
    """How distributions with one package manager do each step: shell lines, those as root by `sudo`, `{…}` filled in.

    `own_…` = the distribution's own packages of the driver, `{server}` = `-server` for data-center cards; the others come from NVIDIA's
    repository, set up by `repository`. `fabric_from` = the first branch whose fabric manager has the name used. `signing_key` = where
    DKMS keeps the key that it signs modules with.
    """

    id: str
    headers: list[str] = []
    own_open: list[str] = []
    own_proprietary: list[str] = []
    own_fabric: list[str] = []
    repository: list[str] = []
    open_driver: list[str] = []
    proprietary_driver: list[str] = []
    fabric: list[str] = []
    fabric_from: int = 0
    toolkit: list[str] = []
    compat: list[str] = []
    compiler: list[str] = []
    python_headers: list[str] = []
    default_python_headers: list[str] = []
    signing_key: str | None = None


class SystemSteps(Record, frozen=True, kw_only=True):
    """A distribution by its os-release `ID`, and the versions of it that share their commands; none listed = any.

    `folder` = its folder in NVIDIA's repository, for `machines`; without one, and where `own_branches` does not list the branch, the
    official `page` is all there is to say. `before` = what NVIDIA's packages need first. `kernels` = other headers for kernels whose name
    holds the word. `rolling` = only the newest branch can be had. `unverified` = steps whose commands nobody's documentation confirms.
    """

    distribution: str
    versions: list[str] = []
    family: str
    folder: str | None = None
    machines: list[Arch] = []
    before: list[str] = []
    headers: list[str] | None = None
    kernels: dict[str, list[str]] = {}
    own_branches: list[int] = []
    rolling: bool = False
    signing_key: str | None = None
    page: str
    unverified: list[Step] = []


class SystemName(Record, frozen=True, kw_only=True):
    """How a distribution calls itself where its os-release `ID` does not stand: the name begins so, whatever the case."""

    begins: str
    distribution: str


class CompatPackage(Record, frozen=True, kw_only=True):
    """The forward-compatibility package of a CUDA release: the branch its libcuda is of, and the older branches it runs on."""

    cuda: str
    branch: int
    serves: list[int]


class RootStepsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/root_steps.json`."""

    origins: list[PackageOrigin]
    families: list[StepFamily]
    systems: list[SystemSteps]
    names: list[SystemName]
    compat: list[CompatPackage]


class System(msgspec.Struct, frozen=True):
    """One host's distribution: its record, its family, and where packages come from."""

    record: SystemSteps
    family: StepFamily
    origins: dict[str, str]
    machine: str

    @property
    def signing_key(self) -> str | None:
        """Where DKMS keeps its key."""
        return self.record.signing_key or self.family.signing_key

    @property
    def has_repository(self) -> bool:
        """Whether NVIDIA's repository has a folder for it."""
        return self.record.folder is not None and self.machine in self.record.machines

    def headers(self, kernel: str) -> tuple[str, ...]:
        """DKMS and the headers of the running kernel, by the kernel's name."""
        special = next((lines for word, lines in self.record.kernels.items() if word in kernel), None)
        own = self.family.headers if self.record.headers is None else self.record.headers
        return self.filled(own if special is None else special)

    def driver(self, branch: int, *, flavour: str, server: bool, fabric: bool, kernel: str) -> tuple[str, ...]:
        """Install a driver branch with one kind of kernel module, headers first; () where no way is known."""
        family, params = self.family, {"branch": str(branch), "server": "-server" if server else ""}
        own = branch in self.record.own_branches
        if own:
            install = family.own_open if flavour == "open" else family.own_proprietary
            manager = family.own_fabric
        else:
            install = family.open_driver if flavour == "open" else family.proprietary_driver
            manager = family.fabric if branch >= family.fabric_from else []
        if not install or not (own or self.record.rolling or self.has_repository):
            return ()
        lines = self.filled([*install, *(manager if fabric else [])], **params)
        before = () if own or self.record.rolling else self.repository()
        service = ("sudo systemctl enable nvidia-fabricmanager",) if fabric and manager else ()
        return (*self.headers(kernel), *before, *lines, *service)

    def repository(self) -> tuple[str, ...]:
        """Set up NVIDIA's repository, its key included."""
        return self.filled([*self.record.before, *self.family.repository]) if self.has_repository else ()

    def fabric_manager(self, branch: int) -> tuple[str, ...]:
        """Install the fabric manager of a driver that is there; () where it has another name."""
        own = branch in self.record.own_branches
        lines = self.family.own_fabric if own else self.family.fabric if branch >= self.family.fabric_from else []
        if not lines or not (own or self.has_repository):
            return ()
        return self.filled(lines, branch=str(branch))

    def compat(self, cuda: str) -> tuple[str, ...]:
        """Install a forward-compatibility package; () where no repository has it."""
        if not self.has_repository or not self.family.compat:
            return ()
        return (*self.repository(), *self.filled(self.family.compat, cuda=cuda.replace(".", "-")))

    def toolkit(self) -> tuple[str, ...]:
        """Install NVIDIA's container toolkit."""
        return self.filled(self.family.toolkit)

    def compiler(self) -> tuple[str, ...]:
        """Install a C and a C++ compiler."""
        return self.filled(self.family.compiler)

    def python_headers(self, python: str, *, default: bool) -> tuple[str, ...]:
        """Install the headers of an interpreter; `default` = it is the distribution's usual one."""
        lines = self.family.default_python_headers if default else self.family.python_headers
        return self.filled(lines, python=python, python_flat=python.replace(".", ""))

    def filled(self, lines: list[str], **params: str) -> tuple[str, ...]:
        """Lines with their placeholders filled in; other braces belong to the shell."""
        known = {**self.origins, "folder": self.record.folder or "", "machine": _MACHINES[self.machine], **params}
        return tuple(re.sub(r"\{([a-z_]+)\}", lambda found: known.get(found[1], found[0]), line) for line in lines)


class RootSteps:
    """What root does, by distribution."""

    def __init__(self, file: RootStepsFile) -> None:
        self.file = file

    @cached_property
    def _families(self) -> dict[str, StepFamily]:
        return {entry.id: entry for entry in self.file.families}

    @cached_property
    def _systems(self) -> dict[str, list[SystemSteps]]:
        found: dict[str, list[SystemSteps]] = {}
        for entry in self.file.systems:
            found.setdefault(entry.distribution, []).append(entry)
        return found

    @cached_property
    def _origins(self) -> tuple[dict[str, str], dict[str, str]]:
        usual = {entry.id: entry.url for entry in self.file.origins}
        return usual, usual | {entry.id: entry.mainland for entry in self.file.origins if entry.mainland}

    def system(self, distribution: str, version: str, machine: str, *, mainland: bool = False) -> System | None:
        """A distribution by the `ID` and `VERSION_ID` of os-release; None where it, or this version of it, has no record."""
        record = next((entry for entry in self._systems.get(distribution.lower(), ()) if _is_of(version, entry.versions)), None)
        if record is None or machine not in _MACHINES:
            return None
        return System(record, self._families[record.family], self._origins[mainland], machine)

    def any_version(self, distribution: str, machine: str) -> System | None:
        """The same for steps that hardly differ between versions, such as a compiler: where the version has no record, the newest's."""
        records = self._systems.get(distribution.lower())
        if not records or machine not in _MACHINES:
            return None
        return System(records[-1], self._families[records[-1].family], self._origins[False], machine)

    def named(self, name: str) -> str:
        """The os-release `ID` behind a system's name; its first word where no record says more."""
        low = name.strip().lower()
        found = next((entry.distribution for entry in self.file.names if low.startswith(entry.begins)), None)
        return found or low.partition(" ")[0]

    def compat(self, driver_branch: int) -> list[CompatPackage]:
        """The forward-compatibility packages that run on a driver branch, in the order of their CUDA release."""
        return [entry for entry in self.file.compat if driver_branch in entry.serves]


def _is_of(version: str, versions: list[str]) -> bool:
    """`8.10` is of `8`, `22.04` of `22.04`; the case does not matter (`V10`)."""
    low = version.lower()
    return not versions or any(low == entry.lower() or low.startswith((entry.lower() + ".", entry.lower() + " ")) for entry in versions)
