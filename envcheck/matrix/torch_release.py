"""A torch release with its GPU code parsed once."""

from __future__ import annotations

from functools import cached_property

import msgspec
from packaging.version import Version

from envcheck.matrix.records import TorchRelease, TorchVariant
from envcheck.model.versions import ComputeCapability, compute_capability, numbers


class TorchBuild(msgspec.Struct, frozen=True, gc=False):
    """torch as one index serves it for one machine; `variant` "" = the package index's.

    `cuda` None = a CPU build; `gpu_code` None = not known.
    """

    variant: str
    arch: str
    cuda: tuple[int, ...] | None
    gpu_code: tuple[ComputeCapability, ...] | None
    ptx: tuple[ComputeCapability, ...]
    listed: bool
    basis: str


class Torch:
    """One torch release."""

    def __init__(self, record: TorchRelease, version: Version) -> None:
        self.record = record
        self.version = version
        self.raw = record.version

    def __repr__(self) -> str:
        return f"<Torch {self.raw}>"

    @cached_property
    def builds(self) -> tuple[TorchBuild, ...]:
        """Every build known: the package index's, then torch's own CUDA variants."""
        own = [_index_build(self.record, arch) for arch in self.record.index_cuda]
        return (*own, *(_variant_build(variant, arch) for variant in self.record.variants for arch in variant.archs))

    def build(self, arch: str, variant: str = "") -> TorchBuild | None:
        """The build for a machine; `variant` as in `cu128`, "" = the package index's."""
        return next((build for build in self.builds if build.arch == arch and build.variant == variant), None)


def _capabilities(texts: list[str] | None) -> tuple[ComputeCapability, ...] | None:
    return None if texts is None else tuple(found for text in texts if (found := compute_capability(text)))


def _index_build(record: TorchRelease, arch: str) -> TorchBuild:
    cuda = record.index_cuda.get(arch)  # type: ignore[call-overload]  # a machine's name is checked on decoding
    code = record.index_gpu_code.get(arch)  # type: ignore[call-overload]
    return TorchBuild("", arch, numbers(cuda) if cuda else None, _capabilities(code if cuda else []), (), True, "artefact")


def _variant_build(variant: TorchVariant, arch: str) -> TorchBuild:
    code = _capabilities(variant.gpu_code.get(arch))  # type: ignore[call-overload]
    ptx = _capabilities(variant.ptx) or ()
    return TorchBuild(variant.variant, arch, numbers(variant.cuda), code, ptx, variant.listed, variant.basis)
