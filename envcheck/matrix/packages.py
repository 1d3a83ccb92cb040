"""Records of Python packages beside vLLM: known faults, what refuses what, what is compiled against torch, and their look-ups."""

from functools import cached_property, lru_cache
from typing import Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability, compute_capability, numbers

Severity = Literal["error", "warning", "info"]
Series = tuple[int, int]


class PackageFault(Record, frozen=True, kw_only=True):
    """Releases of a package that break vLLM, or themselves, under conditions that all must hold.

    `code` = the finding; `effect` names its wording. `vllm` = the releases concerned (missing: any, installed or not), `beside` =
    other packages that must be installed, with their releases. `install` = the requirements that cure it.
    """

    id: str
    code: str
    package: str
    versions: str
    vllm: str | None = None
    beside: dict[str, str] = {}
    severity: Severity
    effect: str
    install: list[str]


class PackageNeed(Record, frozen=True, kw_only=True):
    """A package that refuses to be imported, or cannot work, beside releases of another outside `needs`.

    `unless` = a package that decides itself where it is listed.
    """

    package: str
    versions: str
    other: str
    needs: str
    unless: str | None = None
    code: str
    severity: Severity


class Companion(Record, frozen=True, kw_only=True):
    """The series of torchvision and torchaudio that were built with a series of torch, as `0.25`."""

    torch: str
    torchvision: str
    torchaudio: str


class Extension(Record, frozen=True, kw_only=True):
    """A package compiled against one torch, whose build its version or its wheel's name may tell: `tells` = what of it.

    `capability_from` to `capability_to` = the GPUs that it serves; missing: no bound.
    """

    package: str
    code: str
    tells: list[Literal["torch", "cuda", "abi"]]
    capability_from: str | None = None
    capability_to: str | None = None


class StandardLibraryAbi(Record, frozen=True, kw_only=True):
    """Whether the project's own Linux wheels of a range of torch releases use the newer C++ ABI of libstdc++."""

    torch: str
    cxx11: bool


class Assembler(Record, frozen=True, kw_only=True):
    """Compute capabilities that the ptxas inside a range of triton releases does not know.

    `cuda` = the toolkit whose ptxas does, `variable` = the environment variable that names another one to triton.
    """

    triton: str
    lacks: list[str]
    cuda: str
    variable: str


class NcclSymbol(Record, frozen=True, kw_only=True):
    """A function of NCCL that releases of torch are linked with, and the NCCL series that brought it."""

    torch: str
    nccl: str
    symbol: str


class SharedFolder(Record, frozen=True, kw_only=True):
    """A library project whose wheels for different CUDA majors write the same files: the one installed last wins."""

    project: str


class NeededModule(Record, frozen=True, kw_only=True):
    """A package without which a range of releases does not start; with `quantization`: a model quantized so."""

    package: str
    vllm: str
    versions: str = ""
    quantization: str | None = None


class PackagesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/packages.json`."""

    faults: list[PackageFault]
    needs: list[PackageNeed]
    companions: list[Companion]
    extensions: list[Extension]
    abis: list[StandardLibraryAbi]
    assemblers: list[Assembler]
    nccl_symbols: list[NcclSymbol]
    shared_folders: list[SharedFolder]
    modules: list[NeededModule]


def series(version: Version) -> Series:
    """2.10.0 as (2, 10)."""
    return version.major, version.minor


def in_range(version: Version, text: str) -> bool:
    """Whether a version lies in a range; its local label does not count, and a pre-release counts as such."""
    return _in_range(version.public, text)


@lru_cache(maxsize=8192)
def _in_range(public: str, text: str) -> bool:
    return version_range(text).contains(Version(public))


def _series_of(text: str) -> Series:
    found = numbers(text) or (0, 0)
    return found[0], found[1]


class Packages:
    """What is known of packages, by name."""

    def __init__(self, file: PackagesFile) -> None:
        self.file = file

    @cached_property
    def faults(self) -> dict[str, tuple[PackageFault, ...]]:
        """Known faults by package."""
        names = dict.fromkeys(entry.package for entry in self.file.faults)
        return {name: tuple(entry for entry in self.file.faults if entry.package == name) for name in names}

    @cached_property
    def needs(self) -> dict[str, tuple[PackageNeed, ...]]:
        """What a package needs of others, by package."""
        names = dict.fromkeys(entry.package for entry in self.file.needs)
        return {name: tuple(entry for entry in self.file.needs if entry.package == name) for name in names}

    @cached_property
    def companions(self) -> dict[Series, dict[str, Series]]:
        """Torch's series → the series of torchvision and torchaudio that belong to it."""
        return {
            _series_of(entry.torch): {"torchvision": _series_of(entry.torchvision), "torchaudio": _series_of(entry.torchaudio)}
            for entry in self.file.companions
        }

    @cached_property
    def extensions(self) -> dict[str, Extension]:
        """Packages compiled against torch, by name."""
        return {entry.package: entry for entry in self.file.extensions}

    @cached_property
    def modules(self) -> tuple[NeededModule, ...]:
        """Packages without which vLLM does not start."""
        return tuple(self.file.modules)

    @cached_property
    def shared_folders(self) -> frozenset[str]:
        """Library projects whose wheels for different CUDA majors overwrite each other."""
        return frozenset(entry.project for entry in self.file.shared_folders)

    def cxx11_abi(self, torch: Version) -> bool | None:
        """Whether a release of torch uses the newer C++ ABI; None where its builds differ."""
        return next((entry.cxx11 for entry in self.file.abis if in_range(torch, entry.torch)), None)

    def nccl_symbol(self, torch: Version, nccl: Version) -> NcclSymbol | None:
        """A function that torch needs and this NCCL does not have."""
        for entry in self.file.nccl_symbols:
            if series(nccl) < _series_of(entry.nccl) and in_range(torch, entry.torch):
                return entry
        return None

    @cached_property
    def _lacking(self) -> tuple[tuple[frozenset[ComputeCapability], Assembler], ...]:
        return tuple(
            (frozenset(found for text in entry.lacks if (found := compute_capability(text))), entry) for entry in self.file.assemblers
        )

    @cached_property
    def assembled(self) -> frozenset[ComputeCapability]:
        """Compute capabilities that the ptxas of some triton release does not know."""
        return frozenset(capability for lacking, _ in self._lacking for capability in lacking)

    def assembler(self, triton: Version, capability: ComputeCapability) -> Assembler | None:
        """The record that says that the ptxas of a triton release does not know a GPU."""
        return next((entry for lacking, entry in self._lacking if capability in lacking and in_range(triton, entry.triton)), None)
