"""The host document `envcheck.host/1` (design 3.2), the same in and out.

Three states a field: a value = found; `None` = known to be absent; `UNSET` (key missing) = not known. The `provenance` map of a
probed report adds, by dotted path, where a value came from or why there is none.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from envcheck.model.host_parts import (
    ContainerRuntime,
    Cpu,
    CudaHome,
    GpuHealth,
    GpuPair,
    Interconnect,
    KernelLog,
    LibraryCopy,
    Limits,
    LoaderFolder,
    PackageOrigin,
    PackageProblem,
    PcieLink,
)

T = TypeVar("T")
SCHEMA = "envcheck.host/1"


class OperatingSystem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operating system.

    `glibc` and `kernel` as dotted text, `libstdcxx` and `cxxabi` = highest GLIBCXX and CXXABI symbol version of the loader's
    libstdc++; `libc` = `glibc` or `musl`; `init` = the first process (`systemd`, …); `kernel_headers` = those of the running kernel.
    """

    name: str | UnsetType | None = UNSET
    id: str | UnsetType | None = UNSET
    version: str | UnsetType | None = UNSET
    arch: str | UnsetType | None = UNSET
    kernel: str | UnsetType | None = UNSET
    glibc: str | UnsetType | None = UNSET
    libstdcxx: str | UnsetType | None = UNSET
    wsl: bool | UnsetType | None = UNSET
    cxxabi: str | UnsetType | None = UNSET
    libc: str | UnsetType | None = UNSET
    init: str | UnsetType | None = UNSET
    kernel_headers: bool | UnsetType | None = UNSET


class Python(msgspec.Struct, frozen=True, omit_defaults=True):
    """The target interpreter: the one given by `--python`, else the active environment's, else `python3` on PATH.

    `externally_managed` = pip refuses to install there (PEP 668); `can_make_venv` = ensurepip is there; `libstdcxx` = highest
    GLIBCXX version of the environment's own libstdc++ (conda's), None where it has none; `implementation` = `CPython`, `PyPy`, …
    """

    version: str | UnsetType | None = UNSET
    executable: str | UnsetType | None = UNSET
    environment: str | UnsetType | None = UNSET
    headers: bool | UnsetType | None = UNSET
    compiler: str | UnsetType | None = UNSET
    prefix: str | UnsetType | None = UNSET
    free_threaded: bool | UnsetType | None = UNSET
    externally_managed: bool | UnsetType | None = UNSET
    can_make_venv: bool | UnsetType | None = UNSET
    libstdcxx: str | UnsetType | None = UNSET
    implementation: str | UnsetType | None = UNSET
    bits: int | UnsetType | None = UNSET


class Driver(msgspec.Struct, frozen=True, omit_defaults=True):
    """NVIDIA driver: kernel module version, its CUDA level, user-space library version, NVML state (`ok` or the error's name)."""

    version: str | UnsetType | None = UNSET
    cuda: str | UnsetType | None = UNSET
    flavour: str | UnsetType | None = UNSET
    library_version: str | UnsetType | None = UNSET
    nvml: str | UnsetType | None = UNSET


class Gpu(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GPU; memory in MiB (`memory_mib` as NVML counts it, `cuda_memory_mib` as CUDA does); `error` when it could not be read.

    `mig_pending` = the mode after a reset, where it differs; `virtualization` = `none`, `passthrough`, `vgpu`, `host-vgpu`,
    `host-vsga`; `compute_mode` = `default`, `exclusive-process`, `prohibited`; `nvlinks` counts the active ones; `display` = a screen
    is driven; power in W; `bar1_mib` = the window through which the host sees the memory.
    """

    index: int | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    uuid: str | UnsetType | None = UNSET
    compute_capability: str | UnsetType | None = UNSET
    memory_mib: float | UnsetType | None = UNSET
    memory_free_mib: float | UnsetType | None = UNSET
    cuda_memory_mib: float | UnsetType | None = UNSET
    mig: bool | str | UnsetType | None = UNSET
    nvlink: bool | UnsetType | None = UNSET
    pci_bus_id: str | UnsetType | None = UNSET
    unified_memory: bool | UnsetType | None = UNSET
    mig_pending: bool | UnsetType | None = UNSET
    virtualization: str | UnsetType | None = UNSET
    persistence: bool | UnsetType | None = UNSET
    compute_mode: str | UnsetType | None = UNSET
    power_limit_w: float | UnsetType | None = UNSET
    power_default_w: float | UnsetType | None = UNSET
    bar1_mib: float | UnsetType | None = UNSET
    numa_node: int | UnsetType | None = UNSET
    nvlinks: int | UnsetType | None = UNSET
    display: bool | UnsetType | None = UNSET
    pcie: PcieLink | UnsetType | None = UNSET
    health: GpuHealth | UnsetType | None = UNSET
    error: str | UnsetType | None = UNSET


class Toolkit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One CUDA toolkit on the host; only run-time compilation and source builds need one.

    `origin` = `system`, `distribution`, `conda`, `pip`; `selected_by` ⊆ {`PATH`, `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`}.
    """

    version: str | UnsetType | None = UNSET
    path: str | UnsetType | None = UNSET
    origin: str | UnsetType | None = UNSET
    selected_by: list[str] | UnsetType | None = UNSET


class Torch(msgspec.Struct, frozen=True, omit_defaults=True):
    """torch in the target interpreter, from its metadata; `cuda` None = a build without CUDA; `arch_list` as `sm_NN`."""

    version: str | UnsetType | None = UNSET
    cuda: str | UnsetType | None = UNSET
    arch_list: list[str] | UnsetType | None = UNSET


class Cudnn(msgspec.Struct, frozen=True, omit_defaults=True):
    """cuDNN as the target interpreter would load it; `copies` = every one found, that one among them."""

    version: str | UnsetType | None = UNSET
    path: str | UnsetType | None = UNSET
    copies: list[LibraryCopy] | UnsetType | None = UNSET


class Nccl(msgspec.Struct, frozen=True, omit_defaults=True):
    """NCCL as the target interpreter would load it; `linked_statically` = torch carries its own inside (conda builds)."""

    version: str | UnsetType | None = UNSET
    path: str | UnsetType | None = UNSET
    copies: list[LibraryCopy] | UnsetType | None = UNSET
    linked_statically: bool | UnsetType | None = UNSET


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """System memory in MiB; `cgroup_limit_mib` None = no limit."""

    ram_mib: float | UnsetType | None = UNSET
    ram_available_mib: float | UnsetType | None = UNSET
    shm_mib: float | UnsetType | None = UNSET
    cgroup_limit_mib: float | UnsetType | None = UNSET
    cgroup_used_mib: float | UnsetType | None = UNSET
    swap_mib: float | UnsetType | None = UNSET


class Disk(msgspec.Struct, frozen=True, omit_defaults=True):
    """Free space in MiB at a path that matters.

    `purposes` ⊆ {`model-cache`, `vllm-cache`, `wheel-cache`, `jit-cache`, `temporary`, `environment`}: paths of one file system are
    one entry each, told apart by `path`. `network` = NFS, CIFS, a cluster or object store; `writable` by this user.
    """

    path: str | UnsetType | None = UNSET
    free_mib: float | UnsetType | None = UNSET
    total_mib: float | UnsetType | None = UNSET
    purposes: list[str] | UnsetType | None = UNSET
    file_system: str | UnsetType | None = UNSET
    network: bool | UnsetType | None = UNSET
    read_only: bool | UnsetType | None = UNSET
    writable: bool | UnsetType | None = UNSET


class Container(msgspec.Struct, frozen=True, omit_defaults=True):
    """The container this process runs in, the NVIDIA variables of its image, the NVIDIA device files in it."""

    kind: str | UnsetType | None = UNSET
    image: str | UnsetType | None = UNSET
    environment: dict[str, str] | UnsetType | None = UNSET
    devices: list[str] | UnsetType | None = UNSET


class Cloud(msgspec.Struct, frozen=True, omit_defaults=True):
    """Cloud provider by files and environment: an id of `matrices/clouds.json`."""

    provider: str | UnsetType | None = UNSET
    instance_type: str | UnsetType | None = UNSET
    region: str | UnsetType | None = UNSET
    platform: str | UnsetType | None = UNSET


class Fabric(msgspec.Struct, frozen=True, omit_defaults=True):
    """NVSwitch fabric: presence, fabric manager service (`running`, `stopped`, `absent`), NVML fabric state."""

    nvswitch: bool | UnsetType | None = UNSET
    manager: str | UnsetType | None = UNSET
    state: str | UnsetType | None = UNSET


class Libcuda(msgspec.Struct, frozen=True, omit_defaults=True):
    """The libcuda.so.1 that the loader would take; `compat` = from a forward-compatibility package, `stub` = a toolkit's link-time stub.

    `development_link` = `libcuda.so` is beside it or where linkers look; `compat_available` = compat libraries on disk, loaded or not.
    """

    path: str | UnsetType | None = UNSET
    version: str | UnsetType | None = UNSET
    compat: bool | UnsetType | None = UNSET
    stub: bool | UnsetType | None = UNSET
    development_link: bool | UnsetType | None = UNSET
    compat_available: list[str] | UnsetType | None = UNSET


class KernelModules(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kernel modules that decide: nouveau holding the card, the NVIDIA module on disk for the next boot and its kind, the loaded ones."""

    nouveau: bool | UnsetType | None = UNSET
    nvidia_on_disk: str | UnsetType | None = UNSET
    flavour_on_disk: str | UnsetType | None = UNSET
    nvidia: bool | UnsetType | None = UNSET
    nvidia_uvm: bool | UnsetType | None = UNSET


class PciDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A PCI function of an accelerator vendor; ids in lower-case hex without `0x`."""

    address: str | UnsetType | None = UNSET
    vendor: str | UnsetType | None = UNSET
    device: str | UnsetType | None = UNSET
    kind: str | UnsetType | None = UNSET  # gpu | nvswitch | other
    driver: str | UnsetType | None = UNSET
    bar_mib: float | UnsetType | None = UNSET  # the largest memory window the firmware mapped; 0 = none
    numa_node: int | UnsetType | None = UNSET


class Pci(msgspec.Struct, frozen=True, omit_defaults=True):
    """The PCI view, which exists without any driver."""

    devices: list[PciDevice] | UnsetType | None = UNSET
    iommu: str | UnsetType | None = UNSET
    acs_redirect: bool | UnsetType | None = UNSET


class Process(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process holding GPU memory (MiB)."""

    pid: int | UnsetType | None = UNSET
    gpu: int | UnsetType | None = UNSET
    memory_mib: float | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET


class Accelerator(msgspec.Struct, frozen=True, omit_defaults=True):
    """An accelerator that is not NVIDIA's."""

    vendor: str | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET
    count: int | UnsetType | None = UNSET


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One source asked for a fact, in order; the first `found` won. `source` names the place, or says why it did not answer."""

    state: Literal["found", "absent", "unreadable"]
    source: str


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a value came from, or why there is none. `state` is that of the fact; `tried` = every source, where `--explain` asked."""

    state: Literal["found", "absent", "unreadable", "given"]
    source: str | None = None
    why: str | None = None
    tried: list[Attempt] = []


class HostReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything known of one host. JSON both ways; unknown keys are ignored on input."""

    schema: str | UnsetType = UNSET
    os: OperatingSystem | UnsetType | None = UNSET
    python: Python | UnsetType | None = UNSET
    driver: Driver | UnsetType | None = UNSET
    gpus: list[Gpu] | UnsetType | None = UNSET
    accelerators: list[Accelerator] | UnsetType | None = UNSET
    toolkits: list[Toolkit] | UnsetType | None = UNSET
    torch: Torch | UnsetType | None = UNSET
    cudnn: Cudnn | UnsetType | None = UNSET
    nccl: Nccl | UnsetType | None = UNSET
    cuda_home: CudaHome | UnsetType | None = UNSET
    packages: dict[str, str | None] | UnsetType | None = UNSET
    package_origins: dict[str, PackageOrigin] | UnsetType | None = UNSET
    package_problems: list[PackageProblem] | UnsetType | None = UNSET
    loader_folders: list[LoaderFolder] | UnsetType | None = UNSET
    tools: dict[str, str | None] | UnsetType | None = UNSET  # name → path; None = not on PATH
    memory: Memory | UnsetType | None = UNSET
    cpu: Cpu | UnsetType | None = UNSET
    limits: Limits | UnsetType | None = UNSET
    disk: list[Disk] | UnsetType | None = UNSET
    container: Container | UnsetType | None = UNSET
    container_runtime: ContainerRuntime | UnsetType | None = UNSET
    cloud: Cloud | UnsetType | None = UNSET
    environment: dict[str, str] | UnsetType | None = UNSET
    fabric: Fabric | UnsetType | None = UNSET
    topology: list[GpuPair] | UnsetType | None = UNSET
    interconnect: Interconnect | UnsetType | None = UNSET
    libcuda: Libcuda | UnsetType | None = UNSET
    kernel_modules: KernelModules | UnsetType | None = UNSET
    kernel_log: KernelLog | UnsetType | None = UNSET
    secure_boot: bool | UnsetType | None = UNSET
    pci: Pci | UnsetType | None = UNSET
    processes: list[Process] | UnsetType | None = UNSET
    observed: dict[str, bool | str | None] | UnsetType | None = UNSET
    network: dict[str, str | None] | UnsetType | None = UNSET
    provenance: dict[str, Provenance] | UnsetType = UNSET


def known(field: T | UnsetType | None) -> T | None:
    """The value of a host field; None where it is absent or not known."""
    return None if isinstance(field, UnsetType) else field
