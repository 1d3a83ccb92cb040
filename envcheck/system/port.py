"""The port: what a probe may ask of a host. `RealSystem` answers from this machine, `RootedSystem` from a recorded folder.

Every answer is a fact: an operation never raises for what a host lacks or refuses. Paths are absolute POSIX paths of the host looked at.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from envcheck.model.fact import Fact

READ_LIMIT = 65_536  # bytes; a fact file is small, and a hostile one must not fill memory


class CommandResult(msgspec.Struct, frozen=True):
    """A finished command: exit status and bounded output, decoded as UTF-8 with replacement."""

    status: int
    stdout: str
    stderr: str


class DiskSpace(msgspec.Struct, frozen=True):
    """Space of the file system holding a path, bytes."""

    total_bytes: int
    free_bytes: int


class HttpAnswer(msgspec.Struct, frozen=True):
    """An HTTP answer: status, the first `limit` bytes of the body, final URL; `truncated` when the body was longer.

    `date_ahead_s` = by how many seconds the answer's date is ahead of this machine's clock, None where it bears none.
    """

    status: int
    body: bytes
    url: str
    truncated: bool = False
    date_ahead_s: int | None = None


class NvmlMigDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A MIG device; memory in bytes, `errors` as for a GPU."""

    uuid: str | None = None
    name: str | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    errors: dict[str, str] = {}


class NvmlProcess(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process on a device; `used_bytes` None = NVML does not say."""

    pid: int
    used_bytes: int | None = None


class NvmlGpu(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device as NVML reads it; memory in bytes, power in mW.

    A field is None where NVML does not support it. `errors` maps the failed read (`name`, `uuid`, `pci`, `compute_capability`,
    `memory`, `mig`, `mig_devices`, `fabric`, `nvlink`, `nvlink_remote`, `virtualization`, `processes`, `graphics_processes`, `ecc`,
    `ecc_errors`, `remapped_rows`, `retired_pages`, `persistence`, `compute_mode`, `throttle`, `temperature`, `power_limit`,
    `power_default`, `pcie`, `bar1`, `numa_node`, `display`) to the error's name: `NotSupported` is the board's answer,
    `FunctionNotFound` an old driver's, `NotInModule` an old Python module's.
    `lost` names the error when the handle itself could not be had; then nothing else was read.
    """

    index: int
    name: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    compute_capability: tuple[int, int] | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    mig_current: bool | None = None
    mig_pending: bool | None = None  # differs from mig_current until the GPU is reset
    mig_devices: list[NvmlMigDevice] = []
    fabric_state: str | None = None  # unsupported | not-started | in-progress | completed
    fabric_status: str | None = None  # ok or an NVML error's name; only once the state is completed
    nvlink_peers: list[str] = []  # gpu | switch | other, one an active link
    virtualization: str | None = None  # none | passthrough | vgpu | host-vgpu | host-vsga
    processes: list[NvmlProcess] | None = None
    ecc_current: bool | None = None
    ecc_uncorrected: int | None = None  # volatile: since the driver was loaded
    remapped_rows: int | None = None  # correctable and uncorrectable together
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    retirement_pending: bool | None = None
    persistence: bool | None = None
    compute_mode: int | None = None  # NVML's number
    throttle_mask: int | None = None  # NVML's bits
    temperature_c: int | None = None
    power_limit_mw: int | None = None
    power_default_mw: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    bar1_total_bytes: int | None = None
    numa_node: int | None = None
    display_active: bool | None = None
    lost: str | None = None
    errors: dict[str, str] = {}


class NvmlPair(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two devices by index, `a` < `b`; NVML's own numbers, None where it did not say.

    `ancestor` = nvmlDeviceGetTopologyCommonAncestor; `read` and `nvlink` = nvmlDeviceGetP2PStatus for reading and for NVLink.
    """

    a: int
    b: int
    ancestor: int | None = None
    read: int | None = None
    nvlink: int | None = None
    errors: dict[str, str] = {}


class NvmlReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that NVML said in one visit.

    `status` is `ok` or the error's name: NVML's own (`LibraryNotFound`, `DriverNotLoaded`, `LibRmVersionMismatch`, `NoPermission`,
    `Unknown`, `OperatingSystem`, …), or ours: `Timeout` (the driver did not answer; `gpus` holds those read before), `Crashed` (the
    child that asked died), `ForkFailed` (no child could be had), `BindingMissing` and `BindingBroken` (the Python module `pynvml`).
    `detail` is a technical remark in English. `cuda_version` as NVML counts it, 12040 = 12.4. `gpu_count` = devices NVML announced, also
    where not all could be read. `pairs` = every two devices read, of at most 16, empty where the driver hung before.
    `library_path` = the file the loader took; its name ends in the user-space driver's version. `errors` as for a GPU, for the reads of
    the whole system (`driver_version`, `nvml_version`, `cuda_version`).
    """

    status: str
    detail: str | None = None
    driver_version: str | None = None
    nvml_version: str | None = None
    cuda_version: int | None = None
    gpus: list[NvmlGpu] = []
    gpu_count: int | None = None
    pairs: list[NvmlPair] = []
    library_path: str | None = None
    errors: dict[str, str] = {}


class System(Protocol):
    """One host."""

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        """The first `limit` bytes of a regular or virtual file."""

    def exists(self, path: str) -> bool:
        """Whether the path is there, links followed."""

    def resolve(self, path: str) -> Fact[str]:
        """The path with every link followed."""

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        """Paths matching a pattern (`*`, `?`, `[…]`; no `**`), sorted, at most `limit`."""

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        """A command without a shell, `LC_ALL=C`, output bounded, killed with its children at the time limit (seconds).

        Absent = no such command; Unreadable = refused or timed out.
        """

    def which(self, name: str) -> str | None:
        """The path of an executable on PATH."""

    def env(self) -> Mapping[str, str]:
        """The environment of the process looked at."""

    def nvml(self) -> NvmlReport:
        """NVML, read once in a child process with a deadline."""

    def libcuda_version(self) -> Fact[int]:
        """`cuDriverGetVersion` of the libcuda.so.1 the loader takes, e.g. 12040, read in the same child as NVML.

        The source of a found value is the file the loader took. Absent = no such library.
        """

    def disk(self, path: str) -> Fact[DiskSpace]:
        """Space where `path` lies, or where its nearest existing parent lies."""

    def writable(self, path: str) -> Fact[bool]:
        """Whether this process may create a file at `path`, or at its nearest existing parent; nothing is written."""

    def uname(self) -> Fact[tuple[str, str, str]]:
        """(system, kernel release, machine)."""

    def libc(self) -> Fact[tuple[str, str]]:
        """(name, version) of the C library, e.g. ("glibc", "2.35")."""

    def http_get(
        self, url: str, headers: Mapping[str, str], timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False
    ) -> Fact[HttpAnswer]:
        """One GET, redirects followed within https, body bounded. Unreadable = could not be asked.

        `direct` = no proxy, no redirect, plain http allowed: for a cloud's metadata endpoint on a link-local address. With `limit` 0 and
        no headers it only tells whether somebody answers, and plain http is allowed too.
        """
