"""A vLLM release with everything that is compared parsed once: versions, CUDA and glibc as tuples, compute capabilities."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from envcheck.matrix.records import EngineRange, VllmBuild, VllmRelease
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability, compute_capability, numbers

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_PYTHON_MINORS = range(7, 20)  # 3.7 to 3.19: what any release in the matrix may name


class Ptx(msgspec.Struct, frozen=True, gc=False):
    """Kernels that devices from `needed_from` on can only run by translating PTX, which takes a driver of CUDA `cuda` or newer."""

    component: str
    cuda: tuple[int, ...]
    isa: str
    needed_from: ComputeCapability
    basis: str


class Build(msgspec.Struct, frozen=True, gc=False):
    """One wheel; `record` is the line in the matrix. None = not known. `cuda` (12, 9), `glibc_*` (2, 31)."""

    record: VllmBuild
    arch: str
    variant: str
    cuda: tuple[int, ...] | None
    cuda_major: int | None
    glibc_tag: tuple[int, ...] | None
    glibc_needed: tuple[int, ...] | None
    gpu_code: tuple[ComputeCapability, ...] | None
    gpu_code_ptx: tuple[ComputeCapability, ...]
    ptx_kernels: tuple[Ptx, ...]


class Release:
    """One vLLM release."""

    def __init__(self, record: VllmRelease, version: Version) -> None:
        self.record = record
        self.version = version
        self.raw = record.version

    def __repr__(self) -> str:
        return f"<Release {self.raw}>"

    @cached_property
    def builds(self) -> tuple[Build, ...]:
        """The wheels: the index's first, then the CUDA variants of the release page."""
        return tuple(_build(record) for record in self.record.builds)

    @cached_property
    def python_minors(self) -> tuple[tuple[int, int], ...]:
        """CPython releases that an installer accepts, as (3, 12)."""
        return python_minors(self.record.requires_python)

    @cached_property
    def built_for(self) -> tuple[tuple[int, int], ...]:
        """CPython releases the project builds and tests for, as (3, 12); may be fewer than an installer accepts."""
        return tuple(_pair(text) for text in self.record.pythons)

    @cached_property
    def torch_pin(self) -> str | None:
        """The exact torch the metadata asks for, e.g. `2.10.0`; None for a range (before 0.2.6)."""
        found = re.fullmatch(r"==([\d.]+)", self.record.requires.get("torch", ""))
        return found[1] if found else None

    def build(self, arch: str, variant: str = "") -> Build | None:
        """The wheel for a machine; `variant` "" = the package index's."""
        return next((build for build in self.builds if build.arch == arch and build.variant == variant), None)

    def required(self, package: str) -> SpecifierSet | None:
        """What the metadata asks of a package, None where it asks nothing; an empty set where any version will do."""
        text = self.record.requires.get(package)
        return None if text is None else specifier(text)


@lru_cache(maxsize=2048)
def specifier(text: str) -> SpecifierSet:
    """A specifier set to be taken apart, parsed once; whether a version lies in it is `version_range`'s. Raises InvalidSpecifier."""
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415  # a check needs the answers alone

    return SpecifierSet(text, prereleases=True)


@lru_cache(maxsize=256)
def python_minors(requires_python: str) -> tuple[tuple[int, int], ...]:
    """`<3.13,>=3.9` as ((3, 9), …, (3, 12)). A late patch release stands for each minor, so `>=3.8.1` keeps 3.8."""
    try:
        wanted = version_range(requires_python)
    except ValueError:
        return ()
    return tuple((3, minor) for minor, late in _late_pythons() if wanted.contains(late))


@lru_cache(maxsize=1)
def _late_pythons() -> tuple[tuple[int, Version], ...]:
    return tuple((minor, Version(f"3.{minor}.99")) for minor in _PYTHON_MINORS)


def engine_of(version: Version, ranges: tuple[EngineRange, ...]) -> EngineRange | None:
    """The engine range a release lies in; they are disjoint, and the newest, which stands last, is asked for most."""
    return next((entry for entry in reversed(ranges) if version_range(entry.releases).contains(version)), None)


@lru_cache(maxsize=64)
def _pair(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def _capabilities(texts: list[str]) -> tuple[ComputeCapability, ...]:
    return tuple(found for text in texts if (found := compute_capability(text)))


def _build(record: VllmBuild) -> Build:
    return Build(
        record=record,
        arch=record.arch,
        variant=record.variant,
        cuda=numbers(record.cuda) if record.cuda else None,
        cuda_major=record.cuda_major,
        glibc_tag=numbers(record.glibc_tag) if record.glibc_tag else None,
        glibc_needed=numbers(record.glibc_needed) if record.glibc_needed else None,
        gpu_code=None if record.gpu_code is None else _capabilities(record.gpu_code),
        gpu_code_ptx=_capabilities(record.gpu_code_ptx),
        ptx_kernels=tuple(
            Ptx(kernel.component, numbers(kernel.cuda) or (), kernel.isa, found, kernel.basis)
            for kernel in record.ptx_kernels
            if (found := compute_capability(kernel.needed_from))
        ),
    )
