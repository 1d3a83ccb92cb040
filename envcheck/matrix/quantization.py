"""Records of number formats: from which compute capability on a release takes them, and which kernels need a newer GPU than that."""

from typing import Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.model.version_range import VersionRange, version_range
from envcheck.model.versions import ComputeCapability, compute_capability

KernelUse = Literal["experts", "blocks", "kv-cache"]


class QuantizationFloor(Record, frozen=True, kw_only=True):
    """The oldest compute capability that a range of releases takes a quantization method on."""

    name: str
    releases: str
    min_capability: str


class KernelLimit(Record, frozen=True, kw_only=True):
    """FP8 kernels that a range of releases lacks below a compute capability.

    `use`: `experts` = of mixtures of experts, `blocks` = weights scaled by blocks, `kv-cache` = FP8 keys and values. `severity` error =
    it does not start; warning = it depends on the attention backend or on the model.
    """

    use: KernelUse
    releases: str
    below: str
    severity: Literal["error", "warning"]


class HalfPrecision(Record, frozen=True, kw_only=True):
    """How half precision is treated: releases that turn bfloat16 into it by themselves, and model types that are not served in it."""

    replaces_bfloat16: str
    refused_model_types: list[str]


class NativeFp8(Record, frozen=True, kw_only=True):
    """The compute capability from which GPUs multiply FP8 numbers; below it FP8 is a way to store weights."""

    min_capability: str


class QuantizationFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/quantization.json`."""

    methods: list[QuantizationFloor]
    kernels: list[KernelLimit]
    half: HalfPrecision
    native_fp8: NativeFp8


class Quantization:
    """Number formats by release."""

    def __init__(self, file: QuantizationFile) -> None:
        self._methods: dict[str, list[tuple[VersionRange, ComputeCapability]]] = {}
        for entry in file.methods:
            if floor := compute_capability(entry.min_capability):
                self._methods.setdefault(entry.name, []).append((_set(entry.releases), floor))
        self._kernels = [(entry, _set(entry.releases), compute_capability(entry.below)) for entry in file.kernels]
        self._replaced = _set(file.half.replaces_bfloat16)
        self.native_fp8 = compute_capability(file.native_fp8.min_capability)
        self.refused_in_half = frozenset(file.half.refused_model_types)
        self._floors: dict[tuple[str, Version], ComputeCapability | None] = {}

    def floor(self, method: str, release: Version) -> ComputeCapability | None:
        """The oldest compute capability that a release takes a method on; None where the method or its floor is not known."""
        if method not in self._methods:
            return None
        key = (method, release)
        if key not in self._floors:
            ranges = self._methods[method]
            self._floors[key] = next((floor for wanted, floor in ranges if wanted.contains(release)), None)
        return self._floors[key]

    def limit(self, use: KernelUse, release: Version, capability: ComputeCapability) -> KernelLimit | None:
        """The gravest limit that a GPU of this compute capability meets in a release."""
        met = [
            entry
            for entry, wanted, below in self._kernels
            if entry.use == use and below and capability < below and wanted.contains(release)
        ]
        return min(met, key=lambda entry: entry.severity, default=None)  # "error" sorts before "warning"

    def replaces_bfloat16(self, release: Version) -> bool:
        """Whether a release serves a bfloat16 checkpoint in half precision by itself where the GPU has none."""
        return self._replaced.contains(release)


def _set(releases: str) -> VersionRange:
    return version_range(releases)
