"""Parts of the host document that only some hosts have: topology, limits, copies of libraries, the kernel's log.

Three states a field, as everywhere in the document: a value, `None` = known to be absent, `UNSET` = not known.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType


class GpuHealth(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a GPU reports of itself.

    `ecc` = current mode, None where the board has none; `uncorrected_errors` since the driver was loaded; `remapped_rows` in all;
    `remap_pending` and `retirement_pending` wait for a reset; `remap_failed` = the board is to be replaced; `throttle` = names of the
    active reasons that cost speed (`power-cap`, `hardware-slowdown`, `hardware-thermal`, `hardware-power-brake`, `software-thermal`).
    """

    ecc: bool | UnsetType | None = UNSET
    uncorrected_errors: int | UnsetType | None = UNSET
    remapped_rows: int | UnsetType | None = UNSET
    remap_pending: bool | UnsetType | None = UNSET
    remap_failed: bool | UnsetType | None = UNSET
    retirement_pending: bool | UnsetType | None = UNSET
    throttle: list[str] | UnsetType | None = UNSET
    temperature_c: int | UnsetType | None = UNSET


class PcieLink(msgspec.Struct, frozen=True, omit_defaults=True):
    """A PCI Express link; an idle GPU lowers its generation, never its width."""

    width: int | UnsetType | None = UNSET
    width_max: int | UnsetType | None = UNSET
    generation: int | UnsetType | None = UNSET
    generation_max: int | UnsetType | None = UNSET


class GpuPair(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two GPUs by index: what lies between them, and whether each may read the other's memory.

    `link` = `nvlink`, `internal`, `single-switch`, `multiple-switches`, `host-bridge`, `node`, `system`; `p2p` = `ok` or NVML's reason
    (`chipset-not-supported`, `gpu-not-supported`, `topology-not-supported`, `disabled-by-regkey`, `not-supported`, `unknown`).
    """

    a: int
    b: int
    link: str | UnsetType | None = UNSET
    p2p: str | UnsetType | None = UNSET


class LibraryCopy(msgspec.Struct, frozen=True, omit_defaults=True):
    """One copy of a library; `origin` = `pip`, `conda`, `system`, `LD_LIBRARY_PATH`, `vendored`; `wins` = this one gets loaded."""

    path: str
    version: str | UnsetType | None = UNSET
    origin: str | UnsetType | None = UNSET
    wins: bool | UnsetType | None = UNSET


class LoaderFolder(msgspec.Struct, frozen=True, omit_defaults=True):
    """A folder searched before the wheels' own libraries or named by hand, and the CUDA libraries in it.

    `named_by` = `LD_LIBRARY_PATH`, `LD_PRELOAD`, or the `ld.so.conf` file that names it.
    """

    path: str
    named_by: str
    libraries: list[str] = []


class CudaHome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `CUDA_HOME` (else `CUDA_PATH`) says and what is there."""

    variable: str | UnsetType | None = UNSET
    value: str | UnsetType | None = UNSET
    exists: bool | UnsetType | None = UNSET
    nvcc: bool | UnsetType | None = UNSET


class PackageOrigin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an installed package was built from (PEP 610); `url` without credentials."""

    url: str | UnsetType | None = UNSET
    editable: bool | UnsetType | None = UNSET
    vcs: str | UnsetType | None = UNSET
    commit: str | UnsetType | None = UNSET


class PackageProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault of the package set that metadata show.

    `kind` = `shadowed-module` (a package directory hides another package's module), `half-replaced` (what an interrupted pip left),
    `duplicate` (two copies, the first is imported), `no-metadata` (a module folder without distribution), `unreadable-metadata`.
    """

    kind: str
    name: str
    path: str | UnsetType | None = UNSET
    detail: str | UnsetType | None = UNSET


class KernelLog(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the kernel said of the GPUs since boot.

    `events` ⊆ {`api-mismatch`, `bar-not-mapped`, `open-module-required`, `unsupported-gpu`, `module-signature-refused`,
    `fell-off-the-bus`, `firmware-failed`, `nouveau-conflict`, `out-of-memory-kill`}.
    """

    xids: list[Xid] | UnsetType | None = UNSET
    events: list[str] | UnsetType | None = UNSET


class Xid(msgspec.Struct, frozen=True, omit_defaults=True):
    """An Xid of the NVIDIA driver: its number, the GPU's PCI address as `/sys` writes it, how often."""

    number: int
    pci_bus_id: str | UnsetType | None = UNSET
    count: int = 1


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits of this process; None = unlimited. `memlock_mib` in MiB, the others are counts."""

    memlock_mib: float | UnsetType | None = UNSET
    open_files: int | UnsetType | None = UNSET
    processes: int | UnsetType | None = UNSET
    seccomp: bool | UnsetType | None = UNSET
    no_new_privileges: bool | UnsetType | None = UNSET
    root: bool | UnsetType | None = UNSET


class Cpu(msgspec.Struct, frozen=True, omit_defaults=True):
    """Processors: `count` this process may use (affinity and control group), `flags` only those that decide (`avx2`, `avx512f`, …)."""

    model: str | UnsetType | None = UNSET
    count: int | UnsetType | None = UNSET
    flags: list[str] | UnsetType | None = UNSET
    numa_nodes: int | UnsetType | None = UNSET


class NetworkPort(msgspec.Struct, frozen=True, omit_defaults=True):
    """An RDMA port; `kind` = `infiniband`, `roce`, `efa`; `state` as the kernel names it, `rate_gbps` in Gbit/s."""

    device: str
    port: int | UnsetType | None = UNSET
    kind: str | UnsetType | None = UNSET
    state: str | UnsetType | None = UNSET
    rate_gbps: float | UnsetType | None = UNSET


class Interconnect(msgspec.Struct, frozen=True, omit_defaults=True):
    """What several nodes need; `peermem` = the module for GPUDirect RDMA is loaded; `imex_channels` counts those of multi-node NVLink."""

    ports: list[NetworkPort] | UnsetType | None = UNSET
    peermem: bool | UnsetType | None = UNSET
    devices: bool | UnsetType | None = UNSET  # /dev/infiniband is here
    imex_channels: int | UnsetType | None = UNSET


class ContainerRuntime(msgspec.Struct, frozen=True, omit_defaults=True):
    """A host's own container engines and the NVIDIA toolkit in them.

    `toolkit` = its version, None where it is not installed; `configured` names what knows the NVIDIA runtime (`docker`, `containerd`,
    `cri-o`, `podman`); `cdi` = specification files; `cgroup_driver` of docker (`systemd`, `cgroupfs`).
    """

    engines: list[str] | UnsetType | None = UNSET
    toolkit: str | UnsetType | None = UNSET
    configured: list[str] | UnsetType | None = UNSET
    default: str | UnsetType | None = UNSET
    cdi: list[str] | UnsetType | None = UNSET
    cgroup_driver: str | UnsetType | None = UNSET
