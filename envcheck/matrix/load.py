"""The matrix: every file read when first asked for, look-ups by dictionaries made once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from envcheck.errors import MatrixError
from envcheck.matrix.decode import Place, decode, decoder_of, invalid, release_files
from envcheck.matrix.gpu_names import GpuNames, any_word
from envcheck.matrix.judgement import JudgementFacts
from envcheck.matrix.lazily import Lazily
from envcheck.matrix.locate import SCHEMA, locate
from envcheck.matrix.records import (
    AcceleratorMaker,
    CloudProvider,
    CudaFile,
    Distribution,
    DriverBranch,
    EngineRange,
    GpuModel,
    MatrixInfo,
    Mirror,
    ModelCard,
    TorchRelease,
    VllmRelease,
)
from envcheck.matrix.release import Release, engine_of
from envcheck.matrix.spec import Resolved, later_posts, matching, resolve
from envcheck.matrix.torch_release import Torch
from envcheck.model.cloud import CloudMatcher
from envcheck.model.maker import MakerSigns
from envcheck.model.versions import ComputeCapability, DriverVersion, compute_capability, driver_version, numbers

if TYPE_CHECKING:
    from envcheck.model.loglines import LogLinesFile
    from envcheck.model.memoryfacts import MemoryFacts

_CACHED_SPECS = 4096  # a batch of hostile questions must not fill memory


def load(explicit: Place | None = None) -> Matrix:
    """The matrix to use, by the order of `locate`. Raises MatrixError; a bad file is found when it is first read."""
    return Matrix(locate(explicit))


class Matrix(JudgementFacts):
    """The facts of one folder. Every look-up returns None for what the matrix does not know."""

    def __init__(self, folder: Place) -> None:
        self.folder = os.fspath(folder)
        self.info: MatrixInfo = self._read("matrix.json", MatrixInfo)
        if self.info.schema != SCHEMA:
            raise MatrixError("error.matrix-schema", folder=self.folder, schema=self.info.schema, expected=SCHEMA)
        self._resolved: dict[str, Resolved | None] = {}
        self._matching: dict[str, tuple[Release, ...]] = {}
        self._engines: dict[Version, EngineRange | None] = {}
        self._by_name: dict[str, Release] = {}
        self._names_read = 0  # releases whose names are among them

    def _read(self, name: str, type_: Any) -> Any:
        return decode(os.path.join(self.folder, name), decoder_of(type_))

    # vLLM ------------------------------------------------------------------------------------------------------------

    @cached_property
    def releases(self) -> Lazily[Release]:
        """Every vLLM release, newest version first; a minor series is read when one asks for it or an older one."""
        return Lazily(self._releases())

    def _releases(self) -> Iterator[Release]:
        decoder = decoder_of(list[VllmRelease])
        for series, path in release_files(self.folder):
            found = []
            for place, record in enumerate(decode(path, decoder)):
                try:
                    version = Version(record.version)
                except InvalidVersion:
                    raise invalid(path, f"`{record.version}` is no version - at `$[{place}].version`") from None
                if version.release[:2] != series:
                    raise invalid(path, f"`{record.version}` is of another series - at `$[{place}].version`")
                found.append(Release(record, version))
            yield from sorted(found, key=lambda release: release.version, reverse=True)

    def release(self, version: str) -> Release | None:
        """The release of exactly this name, its local label (`+cu129`) left out."""
        found = self._named(version)
        if found is not None:
            return found
        resolved = self.resolve(version)
        return resolved.release if resolved is not None and resolved.exact else None

    def _named(self, version: str) -> Release | None:
        if version not in self._by_name:
            for release in self.releases.since(self._names_read):
                self._names_read += 1
                self._by_name[release.raw] = release
                if release.raw == version:
                    break
        return self._by_name.get(version)

    def resolve(self, version: str) -> Resolved | None:
        """The release that an installed version stands for; `exact` says whether it is that release."""
        if version not in self._resolved:
            _bound(self._resolved)
            self._resolved[version] = resolve(version, self.releases)
        return self._resolved[version]

    def matching(self, spec: str) -> tuple[Release, ...]:
        """The releases meant by `0.19.1`, `0.19`, `>=0.8,<0.10`, `latest`, newest first. Raises UsageError when there is none."""
        if spec not in self._matching:
            _bound(self._matching)
            self._matching[spec] = matching(spec, self.releases)
        return self._matching[spec]

    def later_posts(self, release: Release) -> tuple[Release, ...]:
        """Post releases that replace a release, newest first."""
        return later_posts(release, self.releases)

    @cached_property
    def engines(self) -> tuple[EngineRange, ...]:
        """Engine ranges, in the order of the file."""
        return tuple(self._read("engines.json", list[EngineRange]))

    def engine(self, release: Release) -> EngineRange | None:
        """Which engine a release runs."""
        if release.version not in self._engines:
            self._engines[release.version] = engine_of(release.version, self.engines)
        return self._engines[release.version]

    # torch, CUDA, drivers --------------------------------------------------------------------------------------------

    @cached_property
    def torch_releases(self) -> tuple[Torch, ...]:
        """Every torch release, newest version first."""
        path = os.path.join(self.folder, "torch.json")
        found = []
        for place, record in enumerate(self._read("torch.json", list[TorchRelease])):
            try:
                found.append(Torch(record, Version(record.version)))
            except InvalidVersion:
                raise invalid(path, f"`{record.version}` is no version - at `$[{place}].version`") from None
        return tuple(sorted(found, key=lambda torch: torch.version, reverse=True))

    @cached_property
    def _torch_by_name(self) -> dict[str, Torch]:
        return {torch.raw: torch for torch in self.torch_releases}

    def torch(self, version: str) -> Torch | None:
        """A torch release by its public version; the local label does not matter (`2.10.0+cu128`)."""
        return self._torch_by_name.get(version.split("+", 1)[0].strip())

    def torch_glibc(self, version: str, arch: str) -> tuple[int, ...] | None:
        """The glibc that an installer demands for torch's own wheel, e.g. (2, 28)."""
        found = self.torch(version)
        tag = found.record.glibc_tag.get(arch) if found else None  # type: ignore[call-overload]  # a machine's name is checked on decoding
        return numbers(tag) if tag else None

    @cached_property
    def cuda(self) -> CudaFile:
        """Toolkits, PTX versions, driver branches, architectures."""
        found: CudaFile = self._read("cuda.json", CudaFile)
        return found

    @cached_property
    def _floors(self) -> dict[int, DriverVersion]:
        return {entry.major: found for entry in self.cuda.majors if (found := driver_version(entry.min_driver))}

    def cuda_floor(self, major: int) -> DriverVersion | None:
        """The oldest driver that runs any release of a CUDA major, by minor-version compatibility."""
        return self._floors.get(major)

    @cached_property
    def _branches(self) -> dict[int, DriverBranch]:
        return {entry.branch: entry for entry in self.cuda.branches}

    def branch(self, driver: DriverVersion | int) -> DriverBranch | None:
        """The branch of a driver, by its first number."""
        return self._branches.get(driver if isinstance(driver, int) else driver.branch)

    @cached_property
    def _shown(self) -> list[tuple[int, tuple[int, ...]]]:
        pairs = [(entry.branch, numbers(entry.max_cuda)) for entry in self.cuda.branches if entry.max_cuda]
        return sorted(((branch, found) for branch, found in pairs if found), reverse=True)

    @cached_property
    def integrated(self) -> frozenset[ComputeCapability]:
        """Compute capabilities of GPUs in a system on a chip, which run only machine code made for exactly them."""
        named = (text for entry in self.cuda.architectures for text in entry.integrated)
        return frozenset(found for text in named if (found := compute_capability(text)))

    @cached_property
    def first_cuda(self) -> dict[ComputeCapability, tuple[int, ...]]:
        """Compute capabilities that only builds of a CUDA release or newer serve, with that release."""
        named = ((text, entry.first_cuda) for entry in self.cuda.architectures if entry.first_cuda for text in entry.capabilities)
        return {found: numbers(cuda) or () for text, cuda in named if (found := compute_capability(text))}

    def last_branch(self, capability: ComputeCapability) -> int | None:
        """The last driver branch that serves a compute capability; None while branches still do."""
        named = str(capability)
        return next((entry.last_branch for entry in self.cuda.architectures if named in entry.capabilities), None)

    @property
    def branches_by_cuda(self) -> list[tuple[int, tuple[int, ...]]]:
        """Driver branches with the CUDA release each shows, newest first."""
        return self._shown

    def toolkit_branch(self, cuda: str) -> int | None:
        """The driver branch bundled with a CUDA release, e.g. 575 for 12.9."""
        drivers = [driver_version(entry.bundled_driver) for entry in self.cuda.toolkits if entry.cuda == cuda and entry.bundled_driver]
        return max((found.branch for found in drivers if found), default=None)

    def driver_max_cuda(self, driver: DriverVersion) -> tuple[int, ...] | None:
        """The CUDA release a driver supports, e.g. (12, 4): its branch's, else the next lower branch's known one."""
        return next((cuda for branch, cuda in self._shown if branch <= driver.branch), None)

    # GPUs ------------------------------------------------------------------------------------------------------------

    @cached_property
    def gpus(self) -> tuple[GpuModel, ...]:
        """Every GPU, by name."""
        return tuple(self._read("gpus.json", list[GpuModel]))

    @cached_property
    def _names(self) -> GpuNames:
        return GpuNames(self.gpus)

    def gpu(self, name: str) -> GpuModel | None:
        """A GPU by name: brand words, case, MIG and vGPU endings do not matter."""
        return self._names.find(name)

    @cached_property
    def _by_pci(self) -> dict[str, GpuModel]:
        found: dict[str, GpuModel] = {}
        for gpu in self.gpus:
            for device in gpu.pci_ids:
                found.setdefault(device, gpu)
        return found

    def gpu_by_pci(self, device: str) -> GpuModel | None:
        """A GPU by its PCI device id, hexadecimal with or without `0x`."""
        return self._by_pci.get(device.lower().removeprefix("0x"))

    @cached_property
    def makers(self) -> tuple[AcceleratorMaker, ...]:
        """Makers of accelerators other than NVIDIA's, by id."""
        return tuple(self._read("makers.json", list[AcceleratorMaker]))

    def maker_signs(self) -> tuple[MakerSigns, ...]:
        """The signs of every maker that shows any on a host, for the accelerator probe."""
        shown = (one for one in self.makers if one.pci_vendor or one.nodes)
        return tuple(
            MakerSigns(one.id, one.name, one.pci_vendor, one.devices, tuple(one.classes), tuple(one.nodes), tuple(one.tools))
            for one in shown
        )

    @cached_property
    def _maker_words(self) -> re.Pattern[str]:
        return any_word(word for maker in self.makers for word in maker.words)

    def names_other_maker(self, name: str) -> bool:
        """Whether an accelerator's name holds a word of a maker other than NVIDIA."""
        return self._maker_words.search(name) is not None

    # places ----------------------------------------------------------------------------------------------------------

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """Operating system releases."""
        return tuple(self._read("distros.json", list[Distribution]))

    @cached_property
    def _distributions(self) -> dict[tuple[str, str], Distribution]:
        return {(entry.id.lower(), entry.version.lower()): entry for entry in self.distributions}

    def distro(self, id_: str, version: str) -> Distribution | None:
        """A distribution release by the `ID` and `VERSION_ID` of os-release; a minor the matrix lacks falls back to its major."""
        id_, version = id_.lower(), version.lower()
        return self._distributions.get((id_, version)) or self._distributions.get((id_, version.split(".")[0]))

    @cached_property
    def clouds(self) -> tuple[CloudProvider, ...]:
        """Clouds and rental platforms, in the order in which their signs are tried."""
        return tuple(self._read("clouds.json", list[CloudProvider]))

    @cached_property
    def _clouds(self) -> dict[str, CloudProvider]:
        return {entry.id: entry for entry in self.clouds}

    def cloud(self, provider: str) -> CloudProvider | None:
        """A provider by id."""
        return self._clouds.get(provider)

    def cloud_matchers(self) -> tuple[CloudMatcher, ...]:
        """The signs of every provider, for the cloud probe."""
        return tuple(
            CloudMatcher(one.id, one.level, tuple(one.signs), one.generic, one.provider, tuple(one.tells), one.metadata)
            for one in self.clouds
            if one.signs or one.metadata
        )

    @cached_property
    def _mirrors(self) -> tuple[Mirror, ...]:
        return tuple(self._read("mirrors.json", list[Mirror]))

    def mirrors(self, kind: str | None = None) -> tuple[Mirror, ...]:
        """Mirrors, all or of one kind."""
        return tuple(mirror for mirror in self._mirrors if kind is None or mirror.kind == kind)

    # the rest --------------------------------------------------------------------------------------------------------

    @cached_property
    def memory(self) -> MemoryFacts:
        """What releases take of a GPU's memory, for sizing."""
        from envcheck.model.memoryfacts import MemoryFacts  # noqa: PLC0415  # two dozen Structs that a check without a model never needs

        found: MemoryFacts = self._read("memory.json", MemoryFacts)
        return found

    @cached_property
    def log_lines(self) -> LogLinesFile:
        """Which lines of a start-up log tell what."""
        from envcheck.model.loglines import LogLinesFile  # noqa: PLC0415  # only a log needs them

        found: LogLinesFile = self._read("log_lines.json", LogLinesFile)
        return found

    @cached_property
    def models(self) -> dict[str, ModelCard]:
        """Models known without a network, by id."""
        return {card.id: card for card in self._read("models.json", list[ModelCard])}

    @cached_property
    def _models_folded(self) -> dict[str, ModelCard]:
        return {name.lower(): card for name, card in self.models.items()}

    def model(self, id_: str) -> ModelCard | None:
        """A model by its hub id; the case does not matter."""
        return self.models.get(id_) or self._models_folded.get(id_.lower())


def _bound(cache: dict[str, Any]) -> None:
    if len(cache) >= _CACHED_SPECS:
        cache.clear()
