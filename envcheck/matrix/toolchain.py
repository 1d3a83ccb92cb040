"""Records of compiling on the host: what each toolkit's nvcc takes and knows, what releases compile at run time, what loaders mix up."""

from functools import cached_property, lru_cache
from typing import Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability, compute_capability, numbers

Cuda = tuple[int, ...]


class HostCompilerLimit(Record, frozen=True, kw_only=True):
    """The newest major of gcc that nvcc takes, from this CUDA release up to the next record's."""

    cuda: str
    gcc: int


class FirstToolkit(Record, frozen=True, kw_only=True):
    """The first CUDA release whose nvcc makes code for a compute capability."""

    capability: str
    cuda: str


class KernelCompilation(Record, frozen=True, kw_only=True):
    """CUDA kernels that a range of vLLM releases has compiled on the host by nvcc, when they are first used.

    `package` compiles them; `optional` = only where it is installed; `unless` = packages that bring them compiled; `labelled` = so does
    a build of `package` whose version has a CUDA label. `variable` = the environment variable that decides: `off` = the value without
    them, `on` = the value that asks for them. `capability_from` to `capability_to` = the GPUs on which it is done. `needs` = compute
    capability → the oldest toolkit that `package` takes for it, `passes_by` = vLLM releases that do without where the toolkit is older.
    `block_fp8` = only for models quantized to FP8 by blocks. `index` = where `unless` is published, `{cuda}` filled in.
    """

    id: str
    vllm: str
    package: str
    optional: bool = False
    unless: list[str] = []
    labelled: bool = False
    variable: str | None = None
    off: str | None = None
    on: str | None = None
    capability_from: str
    capability_to: str
    needs: dict[str, str] = {}
    passes_by: str | None = None
    block_fp8: bool = False
    index: str | None = None


class TritonBuild(Record, frozen=True, kw_only=True):
    """How a range of triton releases builds its launcher by the C compiler: `library` = what it is linked with."""

    triton: str
    library: str


class LoaderConflict(Record, frozen=True, kw_only=True):
    """A library that, found before the wheels' own under the same name, breaks a range of torch releases.

    `follows` = what its version is compared with: torch's CUDA release, or the version that torch's record names under that key;
    `differs` = `older` or `other` does harm. `by` = how it gets before the wheels' own.
    """

    library: str
    torch: str
    follows: Literal["cuda", "cudnn", "nccl"]
    differs: Literal["older", "other"]
    by: Literal["LD_LIBRARY_PATH", "LD_PRELOAD"]
    severity: Literal["error", "warning"]


class ToolchainFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/toolchain.json`."""

    host_compilers: list[HostCompilerLimit]
    first_toolkits: list[FirstToolkit]
    kernels: list[KernelCompilation]
    triton: list[TritonBuild]
    conflicts: list[LoaderConflict]


class Toolchain:
    """What is known of compiling on a host."""

    def __init__(self, file: ToolchainFile) -> None:
        self.file = file

    @cached_property
    def _limits(self) -> list[tuple[Cuda, int]]:
        return sorted((found, entry.gcc) for entry in self.file.host_compilers if (found := numbers(entry.cuda)))

    def newest_gcc(self, cuda: Cuda) -> int | None:
        """The newest major of gcc that a toolkit takes; None for one older or newer than the records."""
        limits = self._limits
        if not limits or cuda[:2] > limits[-1][0]:
            return None
        return next((gcc for first, gcc in reversed(limits) if cuda[:2] >= first), None)

    @cached_property
    def _first(self) -> dict[ComputeCapability, str]:
        return {found: entry.cuda for entry in self.file.first_toolkits if (found := compute_capability(entry.capability))}

    def first_toolkit(self, capability: ComputeCapability) -> str | None:
        """The first CUDA release whose nvcc knows a compute capability."""
        return self._first.get(capability)

    def kernels(self, vllm: Version) -> tuple[KernelCompilation, ...]:
        """What a vLLM release has compiled on the host."""
        return _kernels(self, vllm)

    def links_with(self, triton: Version) -> str | None:
        """What a triton release links its launcher with; None = not known."""
        return next((entry.library for entry in self.file.triton if _within(entry.triton, triton)), None)

    def conflicts(self, torch: Version, by: str) -> list[LoaderConflict]:
        """Libraries that break a torch release where they come before the wheels' own."""
        return [entry for entry in self.file.conflicts if entry.by == by and _within(entry.torch, torch)]

    @cached_property
    def libraries(self) -> frozenset[str]:
        """The names of all such libraries."""
        return frozenset(entry.library for entry in self.file.conflicts)


@lru_cache(maxsize=512)
def _kernels(toolchain: Toolchain, vllm: Version) -> tuple[KernelCompilation, ...]:
    return tuple(entry for entry in toolchain.file.kernels if _within(entry.vllm, vllm))


@lru_cache(maxsize=4096)
def _within(releases: str, version: Version) -> bool:
    return version_range(releases).contains(version)


def within(releases: str | None, version: Version) -> bool:
    """Whether a release lies in a range; none lies in one that is not stated."""
    return releases is not None and _within(releases, version)
