"""The host document `envcheck.host/1` (design 3.2), the same in and out.

Three states a field: a value = found; `None` = known to be absent; `UNSET` (key missing) = not known. The `provenance` map of a
probed report adds, by dotted path, where a value came from or why there is none.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

SCHEMA = "envcheck.host/1"


class OperatingSystem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operating system; `glibc` and `kernel` as dotted text, `libstdcxx` = highest GLIBCXX symbol version."""

    name: str | None | UnsetType = UNSET
    id: str | None | UnsetType = UNSET
    version: str | None | UnsetType = UNSET
    arch: str | None | UnsetType = UNSET
    kernel: str | None | UnsetType = UNSET
    glibc: str | None | UnsetType = UNSET
    libstdcxx: str | None | UnsetType = UNSET
    wsl: bool | None | UnsetType = UNSET


class Python(msgspec.Struct, frozen=True, omit_defaults=True):
    """The target interpreter: the one given by `--python`, else the active environment's, else `python3` on PATH."""

    version: str | None | UnsetType = UNSET
    executable: str | None | UnsetType = UNSET
    environment: str | None | UnsetType = UNSET
    headers: bool | None | UnsetType = UNSET
    compiler: str | None | UnsetType = UNSET


class Driver(msgspec.Struct, frozen=True, omit_defaults=True):
    """NVIDIA driver: kernel module version, its CUDA level, user-space library version, NVML state (`ok` or the error's name)."""

    version: str | None | UnsetType = UNSET
    cuda: str | None | UnsetType = UNSET
    flavour: str | None | UnsetType = UNSET
    library_version: str | None | UnsetType = UNSET
    nvml: str | None | UnsetType = UNSET


class Gpu(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GPU; memory in MiB (`memory_mib` as NVML counts it, `cuda_memory_mib` as CUDA does); `error` when it could not be read."""

    index: int | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    uuid: str | None | UnsetType = UNSET
    compute_capability: str | None | UnsetType = UNSET
    memory_mib: float | None | UnsetType = UNSET
    memory_free_mib: float | None | UnsetType = UNSET
    cuda_memory_mib: float | None | UnsetType = UNSET
    mig: bool | str | None | UnsetType = UNSET
    nvlink: bool | None | UnsetType = UNSET
    pci_bus_id: str | None | UnsetType = UNSET
    unified_memory: bool | None | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class Toolkit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One CUDA toolkit on the host; only run-time compilation and source builds need one."""

    version: str | None | UnsetType = UNSET
    path: str | None | UnsetType = UNSET


class Torch(msgspec.Struct, frozen=True, omit_defaults=True):
    """torch in the target interpreter, from its metadata; `cuda` None = a build without CUDA; `arch_list` as `sm_NN`."""

    version: str | None | UnsetType = UNSET
    cuda: str | None | UnsetType = UNSET
    arch_list: list[str] | None | UnsetType = UNSET


class Cudnn(msgspec.Struct, frozen=True, omit_defaults=True):
    """cuDNN as the target interpreter would load it."""

    version: str | None | UnsetType = UNSET
    path: str | None | UnsetType = UNSET


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """System memory in MiB; `cgroup_limit_mib` None = no limit."""

    ram_mib: float | None | UnsetType = UNSET
    ram_available_mib: float | None | UnsetType = UNSET
    shm_mib: float | None | UnsetType = UNSET
    cgroup_limit_mib: float | None | UnsetType = UNSET


class Disk(msgspec.Struct, frozen=True, omit_defaults=True):
    """Free space in MiB at a path that matters (cache, environment, temporary files)."""

    path: str | None | UnsetType = UNSET
    free_mib: float | None | UnsetType = UNSET


class Container(msgspec.Struct, frozen=True, omit_defaults=True):
    """The container this process runs in, and the NVIDIA variables of its image."""

    kind: str | None | UnsetType = UNSET
    image: str | None | UnsetType = UNSET
    environment: dict[str, str] | None | UnsetType = UNSET


class Cloud(msgspec.Struct, frozen=True, omit_defaults=True):
    """Cloud provider by files and environment: an id of `matrices/clouds.json`."""

    provider: str | None | UnsetType = UNSET
    instance_type: str | None | UnsetType = UNSET
    region: str | None | UnsetType = UNSET
    platform: str | None | UnsetType = UNSET


class Fabric(msgspec.Struct, frozen=True, omit_defaults=True):
    """NVSwitch fabric: presence, fabric manager service (`running`, `stopped`, `absent`), NVML fabric state."""

    nvswitch: bool | None | UnsetType = UNSET
    manager: str | None | UnsetType = UNSET
    state: str | None | UnsetType = UNSET


class Libcuda(msgspec.Struct, frozen=True, omit_defaults=True):
    """The libcuda.so.1 that the loader would take; `compat` = from a forward-compatibility package."""

    path: str | None | UnsetType = UNSET
    version: str | None | UnsetType = UNSET
    compat: bool | None | UnsetType = UNSET


class KernelModules(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kernel modules that decide: nouveau holding the card, the NVIDIA module on disk for the next boot."""

    nouveau: bool | None | UnsetType = UNSET
    nvidia_on_disk: str | None | UnsetType = UNSET


class PciDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A PCI function of an accelerator vendor; ids in lower-case hex without `0x`."""

    address: str | None | UnsetType = UNSET
    vendor: str | None | UnsetType = UNSET
    device: str | None | UnsetType = UNSET
    kind: str | None | UnsetType = UNSET  # gpu | nvswitch | other
    driver: str | None | UnsetType = UNSET


class Pci(msgspec.Struct, frozen=True, omit_defaults=True):
    """The PCI view, which exists without any driver."""

    devices: list[PciDevice] | None | UnsetType = UNSET
    iommu: str | None | UnsetType = UNSET
    acs_redirect: bool | None | UnsetType = UNSET


class Process(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process holding GPU memory (MiB)."""

    pid: int | None | UnsetType = UNSET
    gpu: int | None | UnsetType = UNSET
    memory_mib: float | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET


class Accelerator(msgspec.Struct, frozen=True, omit_defaults=True):
    """An accelerator that is not NVIDIA's."""

    vendor: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    count: int | None | UnsetType = UNSET


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a value came from, or why there is none. `state` is that of the fact."""

    state: Literal["found", "absent", "unreadable", "given"]
    source: str | None = None
    why: str | None = None


class HostReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything known of one host. JSON both ways; unknown keys are ignored on input."""

    schema: str = SCHEMA
    os: OperatingSystem | None | UnsetType = UNSET
    python: Python | None | UnsetType = UNSET
    driver: Driver | None | UnsetType = UNSET
    gpus: list[Gpu] | None | UnsetType = UNSET
    accelerators: list[Accelerator] | None | UnsetType = UNSET
    toolkits: list[Toolkit] | None | UnsetType = UNSET
    torch: Torch | None | UnsetType = UNSET
    cudnn: Cudnn | None | UnsetType = UNSET
    packages: dict[str, str | None] | None | UnsetType = UNSET
    memory: Memory | None | UnsetType = UNSET
    disk: list[Disk] | None | UnsetType = UNSET
    container: Container | None | UnsetType = UNSET
    cloud: Cloud | None | UnsetType = UNSET
    environment: dict[str, str] | None | UnsetType = UNSET
    fabric: Fabric | None | UnsetType = UNSET
    libcuda: Libcuda | None | UnsetType = UNSET
    kernel_modules: KernelModules | None | UnsetType = UNSET
    secure_boot: bool | None | UnsetType = UNSET
    pci: Pci | None | UnsetType = UNSET
    processes: list[Process] | None | UnsetType = UNSET
    observed: dict[str, bool | str | None] | None | UnsetType = UNSET
    network: dict[str, str | None] | None | UnsetType = UNSET
    provenance: dict[str, Provenance] | UnsetType = UNSET
