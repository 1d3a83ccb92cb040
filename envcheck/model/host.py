"""The host document `envcheck.host/1` (design 3.2), the same in and out.

Three states a field: a value = found; `None` = known to be absent; `UNSET` (key missing) = not known. The `provenance` map of a
probed report adds, by dotted path, where a value came from or why there is none.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

T = TypeVar("T")
SCHEMA = "envcheck.host/1"


class OperatingSystem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operating system; `glibc` and `kernel` as dotted text, `libstdcxx` = highest GLIBCXX symbol version."""

    name: str | UnsetType | None = UNSET
    id: str | UnsetType | None = UNSET
    version: str | UnsetType | None = UNSET
    arch: str | UnsetType | None = UNSET
    kernel: str | UnsetType | None = UNSET
    glibc: str | UnsetType | None = UNSET
    libstdcxx: str | UnsetType | None = UNSET
    wsl: bool | UnsetType | None = UNSET


class Python(msgspec.Struct, frozen=True, omit_defaults=True):
    """The target interpreter: the one given by `--python`, else the active environment's, else `python3` on PATH."""

    version: str | UnsetType | None = UNSET
    executable: str | UnsetType | None = UNSET
    environment: str | UnsetType | None = UNSET
    headers: bool | UnsetType | None = UNSET
    compiler: str | UnsetType | None = UNSET


class Driver(msgspec.Struct, frozen=True, omit_defaults=True):
    """NVIDIA driver: kernel module version, its CUDA level, user-space library version, NVML state (`ok` or the error's name)."""

    version: str | UnsetType | None = UNSET
    cuda: str | UnsetType | None = UNSET
    flavour: str | UnsetType | None = UNSET
    library_version: str | UnsetType | None = UNSET
    nvml: str | UnsetType | None = UNSET


class Gpu(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GPU; memory in MiB (`memory_mib` as NVML counts it, `cuda_memory_mib` as CUDA does); `error` when it could not be read."""

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
    error: str | UnsetType | None = UNSET


class Toolkit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One CUDA toolkit on the host; only run-time compilation and source builds need one."""

    version: str | UnsetType | None = UNSET
    path: str | UnsetType | None = UNSET


class Torch(msgspec.Struct, frozen=True, omit_defaults=True):
    """torch in the target interpreter, from its metadata; `cuda` None = a build without CUDA; `arch_list` as `sm_NN`."""

    version: str | UnsetType | None = UNSET
    cuda: str | UnsetType | None = UNSET
    arch_list: list[str] | UnsetType | None = UNSET


class Cudnn(msgspec.Struct, frozen=True, omit_defaults=True):
    """cuDNN as the target interpreter would load it."""

    version: str | UnsetType | None = UNSET
    path: str | UnsetType | None = UNSET


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """System memory in MiB; `cgroup_limit_mib` None = no limit."""

    ram_mib: float | UnsetType | None = UNSET
    ram_available_mib: float | UnsetType | None = UNSET
    shm_mib: float | UnsetType | None = UNSET
    cgroup_limit_mib: float | UnsetType | None = UNSET


class Disk(msgspec.Struct, frozen=True, omit_defaults=True):
    """Free space in MiB at a path that matters (cache, environment, temporary files)."""

    path: str | UnsetType | None = UNSET
    free_mib: float | UnsetType | None = UNSET


class Container(msgspec.Struct, frozen=True, omit_defaults=True):
    """The container this process runs in, and the NVIDIA variables of its image."""

    kind: str | UnsetType | None = UNSET
    image: str | UnsetType | None = UNSET
    environment: dict[str, str] | UnsetType | None = UNSET


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
    """The libcuda.so.1 that the loader would take; `compat` = from a forward-compatibility package."""

    path: str | UnsetType | None = UNSET
    version: str | UnsetType | None = UNSET
    compat: bool | UnsetType | None = UNSET


class KernelModules(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kernel modules that decide: nouveau holding the card, the NVIDIA module on disk for the next boot."""

    nouveau: bool | UnsetType | None = UNSET
    nvidia_on_disk: str | UnsetType | None = UNSET


class PciDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A PCI function of an accelerator vendor; ids in lower-case hex without `0x`."""

    address: str | UnsetType | None = UNSET
    vendor: str | UnsetType | None = UNSET
    device: str | UnsetType | None = UNSET
    kind: str | UnsetType | None = UNSET  # gpu | nvswitch | other
    driver: str | UnsetType | None = UNSET


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


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a value came from, or why there is none. `state` is that of the fact."""

    state: Literal["found", "absent", "unreadable", "given"]
    source: str | None = None
    why: str | None = None


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
    packages: dict[str, str | None] | UnsetType | None = UNSET
    memory: Memory | UnsetType | None = UNSET
    disk: list[Disk] | UnsetType | None = UNSET
    container: Container | UnsetType | None = UNSET
    cloud: Cloud | UnsetType | None = UNSET
    environment: dict[str, str] | UnsetType | None = UNSET
    fabric: Fabric | UnsetType | None = UNSET
    libcuda: Libcuda | UnsetType | None = UNSET
    kernel_modules: KernelModules | UnsetType | None = UNSET
    secure_boot: bool | UnsetType | None = UNSET
    pci: Pci | UnsetType | None = UNSET
    processes: list[Process] | UnsetType | None = UNSET
    observed: dict[str, bool | str | None] | UnsetType | None = UNSET
    network: dict[str, str | None] | UnsetType | None = UNSET
    provenance: dict[str, Provenance] | UnsetType = UNSET


def known(field: T | UnsetType | None) -> T | None:
    """The value of a host field; None where it is absent or not known."""
    return None if isinstance(field, UnsetType) else field
