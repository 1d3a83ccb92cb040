"""One Struct per kind of record under `matrices/`. Unknown keys are refused, so a misspelt key cannot hide.

Versions stay text in the records; `matrix.load` parses them once. Every record names its sources. Compute capabilities are `8.6`,
CUDA releases `12.9`, memory MiB, dates ISO 8601. Records hold no cycles, so the garbage collector need not visit them (`gc=False`):
thousands are made at every start.
"""

from typing import Any, Literal

import msgspec

from envcheck.model.cloud import CloudSign, CloudTell, Metadata

Arch = Literal["x86_64", "aarch64"]
# How a fact is known: read in the artefact; stated by the release's own build pipeline; taken from the neighbouring releases; not verified.
Basis = Literal["artefact", "pipeline", "neighbour", "unverified"]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """What every record has."""

    sources: list[str]
    note: str | None = None


class PtxKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """Kernels that exist only as PTX above `sass_below`: a driver older than `cuda` cannot translate them.

    `component` is the extension (e.g. `flash-attn 2`), `compute` what the PTX targets, `isa` its PTX version, `cuda` the toolkit that
    introduced that PTX version. Devices whose compute capability is at least `needed_from` execute the PTX.
    """

    component: str
    compute: str
    isa: str
    cuda: str
    needed_from: str
    basis: Basis


class VllmBuild(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """One wheel of a release.

    `variant` "" = the wheel on the package index, `cu129` etc. = a wheel of the project's release page (`url`).
    `cuda` = nvcc it was compiled with; `cuda_major` = major of the libcudart it needs. `torch_variant` = the variant of torch it must be
    paired with when that is not the index's default. `url` may hold `{python}` = the CPython tag (`cp310`) where a release has one wheel
    per Python. `glibc_tag` = what the installer checks, `glibc_needed` and `libstdcxx_needed` = what its binaries need, in the members
    `glibc_needed_by` where not in all. `gpu_code` = compute capabilities with machine code of the main extensions inside,
    `gpu_code_ptx` = those with PTX of all their kernels (PTX of some kernels only, as every release since 0.9.0 has, is no help to a
    GPU without machine code; see `ptx_kernels`). `size_mib` = the largest of its files, in MiB.
    """

    arch: Arch
    variant: str = ""
    cuda: str | None = None
    cuda_major: int | None = None
    torch_variant: str | None = None
    size_mib: int | None = None
    platform_tags: list[str] = []
    python_tags: list[str] = []
    url: str | None = None
    url_basis: Basis = "unverified"
    glibc_tag: str | None = None
    glibc_needed: str | None = None
    glibc_needed_by: str | None = None
    libstdcxx_needed: str | None = None
    glibc_basis: Basis = "unverified"
    gpu_code: list[str] | None = None
    gpu_code_ptx: list[str] = []
    gpu_code_basis: Basis = "unverified"
    ptx_kernels: list[PtxKernel] = []


class VllmRelease(Record, frozen=True, kw_only=True):
    """One vLLM release. `requires` maps a package to its specifier as the wheel's metadata states it; `pythons` those it is built for."""

    version: str
    released: str
    yanked: bool = False
    requires_python: str
    pythons: list[str]
    requires: dict[str, str]
    constraints: dict[str, str] = {}
    builds: list[VllmBuild]


class EngineRange(Record, frozen=True, kw_only=True):
    """Which engine a range of releases runs, and what `VLLM_USE_V1` does there.

    `switch`: absent = the variable does not exist; selects; zero-fails; ignored; warns. `v1_min_capability`: below it V1 refuses or
    falls back to V0 where V0 exists.
    """

    releases: str
    default: Literal["v0", "v1"]
    available: list[Literal["v0", "v1"]]
    v0_min_capability: str | None = None
    v1_min_capability: str | None = None
    switch: Literal["absent", "selects", "zero-fails", "ignored", "warns"]


class TorchVariant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """One CUDA variant of a torch release on the project's own index.

    `archs` = machines it is built for; `gpu_code` per machine, missing = not known. `listed` False = on the server but in no published
    list of variants.
    """

    variant: str
    cuda: str
    archs: list[Arch]
    gpu_code: dict[Arch, list[str]]
    ptx: list[str] = []
    listed: bool = True
    basis: Basis


class TorchRelease(Record, frozen=True, kw_only=True):
    """One torch release. `index_cuda` = CUDA of the wheel on the package index, null = a CPU build there.

    `size_mib` = the largest wheel there for each machine, in MiB.
    """

    version: str
    released: str
    requires_python: str
    pythons: list[str] = []
    index_cuda: dict[Arch, str | None]
    index_gpu_code: dict[Arch, list[str]] = {}
    glibc_tag: dict[Arch, str] = {}
    size_mib: dict[Arch, int] = {}
    cudnn: str | None = None
    nccl: str | None = None
    triton: str | None = None
    variants: list[TorchVariant] = []


class CudaMajor(Record, frozen=True, kw_only=True):
    """Minor-version compatibility: the oldest Linux driver that runs any release of this CUDA major."""

    major: int
    min_driver: str


class CudaToolkit(Record, frozen=True, kw_only=True):
    """A toolkit release and the driver bundled with it (not its minimum)."""

    cuda: str
    update: str
    bundled_driver: str | None = None


class PtxIsa(Record, frozen=True, kw_only=True):
    """The toolkit release that introduced a PTX ISA version."""

    isa: str
    cuda: str


class DriverBranch(Record, frozen=True, kw_only=True):
    """A driver branch: its kind, end of life (ISO month or null = not known), the CUDA release it shows, its last GPU generations."""

    branch: int
    kind: str | None = None
    end_of_life: str | None = None
    ended: bool | None = None
    max_cuda: str | None = None


class ArchitectureSupport(Record, frozen=True, kw_only=True):
    """Which CUDA majors and driver branches still know a GPU architecture; null = still supported.

    `integrated` = those of its capabilities that are GPUs of a system on a chip, which run only machine code made for exactly them.
    `first_cuda` = the toolkit without which a build serves the architecture not at all, older code of its major included.
    """

    architecture: str
    capabilities: list[str]
    integrated: list[str] = []
    first_cuda: str | None = None
    last_cuda_major: int | None = None
    last_branch: int | None = None


class CudaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/cuda.json`."""

    majors: list[CudaMajor]
    toolkits: list[CudaToolkit]
    ptx: list[PtxIsa]
    branches: list[DriverBranch]
    architectures: list[ArchitectureSupport]


class GpuModel(Record, frozen=True, kw_only=True):
    """One GPU as NVML names it. `first_driver` = the first release of each branch that lists it."""

    name: str
    aliases: list[str] = []
    kind: str
    compute_capability: str
    architecture: str
    memory_mib: int | None = None
    memory_gb: float | None = None
    unified_memory: bool = False
    host_arch: str = "any"
    mainland_variant: bool = False
    nvlink: bool = False
    nvswitch_board: bool = False
    bandwidth_gb_s: float | None = None
    forward_compatibility: bool = False
    first_driver: dict[str, str] = {}
    last_branch: int | None = None
    pci_ids: list[str] = []


class AcceleratorMaker(Record, frozen=True, kw_only=True):
    """A maker of accelerators that run no CUDA, and how they are told: on the PCI bus, by device nodes, by name.

    `words` = what names of its products hold, as whole words whatever the case; `#` in one stands for a number. The other keys are
    those of `MakerSigns`.
    """

    id: str
    name: str
    words: list[str]
    pci_vendor: str | None = None
    devices: dict[str, str] = {}
    classes: list[str] = []
    nodes: list[str] = []
    tools: list[str] = []


class Distribution(Record, frozen=True, kw_only=True):
    """An operating system release: its glibc and default Python."""

    id: str
    version: str
    glibc: str
    python: str | None = None


class CloudProvider(Record, frozen=True, kw_only=True):
    """A cloud or GPU rental platform. `mainland` = its machines stand in mainland China unless the region says otherwise.

    `mainland_regions` = how ids of regions there begin; a region that begins otherwise is abroad. `mirrors` = ids of python-index mirrors
    in order of preference. The other keys are those of `CloudMatcher`.
    """

    id: str
    name: str
    name_zh: str | None = None
    mainland: bool = False
    mainland_regions: list[str] = []
    level: Literal["host", "platform", "guest"] = "host"
    generic: bool = False
    provider: str | None = None
    signs: list[CloudSign]
    tells: list[CloudTell] = []
    metadata: Metadata | None = None
    mirrors: list[str] = []


class Mirror(Record, frozen=True, kw_only=True):
    """A public mirror, or with `upstream` the origin itself.

    `scope` public or the cloud's own network (`vpc`), which is only planned once tested. `layout`: simple = PEP 503 index; flat = one
    listing of files per variant. `{variant}` in `url` stands for cu129 etc.
    """

    id: str
    kind: Literal["python-index", "torch-wheels", "model-hub", "github", "python-builds", "image-registry"]
    url: str
    scope: Literal["public", "vpc"]
    upstream: bool = False
    layout: Literal["simple", "flat", "hub", "prefix", "registry"] = "simple"
    cloud: str | None = None
    regions: list[str] = []


class Policy(Record, frozen=True, kw_only=True):
    """Choices of ours, not facts.

    The oldest release planned unasked, the Python planned where a new interpreter is needed, the oldest interpreter of a host that a
    plan builds on, the driver branch advised where there is none.
    """

    oldest_planned: str
    planned_python: str
    oldest_python: str
    planned_driver_branch: int
    max_findings_shown: int = 5


class ModelCard(Record, frozen=True, kw_only=True):
    """A model known without a network: its configuration (as in `config.json`) and, where known, its weights in bytes.

    `config_basis` artefact = read in the published file; unverified = put together from memory or quotations. `partial` = fields that
    sizing needs are missing.
    """

    id: str
    config: dict[str, Any]
    config_basis: Basis
    partial: bool = False
    weights_bytes: int | None = None
    weights_basis: Basis | None = None


class MatrixInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/matrix.json`: schema version and date of the data."""

    schema: int
    date: str


class FindingCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A finding code of the published vocabulary, what it means, in English, and where that was learnt."""

    code: str
    meaning: str
    sources: list[str] = []
