"""All probes through the real port over a tree in which one file is not what it should be: a pipe, a folder, a loop, a gigabyte."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.model.host import HostReport
from envcheck.probes.collect import collect
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, NvmlReport
from envcheck.system.real import RealSystem
from envcheck.system.rooted import RootedSystem

HOSTS = Path(__file__).parents[1] / "hosts"
RICH = ("aliyun-ubuntu2204-a10-torchcuda-ready", "docker-ubuntu2404-t4-image033-ready")


class InTree(RealSystem):
    """The real port with every path put below `root`; NVML, commands and names as recorded, for they are no files."""

    def __init__(self, root: Path, recorded: RootedSystem) -> None:
        super().__init__(recorded.env(), offline=True)
        self._root, self._recorded = str(root), recorded
        self.read_paths: list[str] = []

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        self.read_paths.append(path)
        return super().read(self._root + path, limit)

    def exists(self, path: str) -> bool:
        return super().exists(self._root + path)

    def resolve(self, path: str) -> Fact[str]:
        fact = super().resolve(self._root + path)
        return Found(fact.value.removeprefix(self._root) or "/", path) if isinstance(fact, Found) else fact

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        return tuple(path.removeprefix(self._root) for path in super().glob(self._root + pattern, limit))

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        return self._recorded.run(argv, timeout)

    def which(self, name: str) -> str | None:
        return self._recorded.which(name)

    def nvml(self) -> NvmlReport:
        return self._recorded.nvml()

    def libcuda_version(self) -> Fact[int]:
        return self._recorded.libcuda_version()

    def disk(self, path: str) -> Fact[DiskSpace]:
        return super().disk(self._root + path)

    def writable(self, path: str) -> Fact[bool]:
        return super().writable(self._root + path)

    def uname(self) -> Fact[tuple[str, str, str]]:
        return self._recorded.uname()

    def libc(self) -> Fact[tuple[str, str]]:
        return self._recorded.libc()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def long_line(path: Path) -> None:
    path.write_bytes(b"a" * (1 << 20))


# Root may read whatever permissions deny; a process's own memory refuses it all the same (EIO at address 0), and `uptime` never reads twice
# the same.
FAULTS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "unreadable": lambda path: path.symlink_to("/proc/self/mem"),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "changing": lambda path: path.symlink_to("/proc/uptime"),
    "a gigabyte": sparse,
    "one long line": long_line,
    "a file as folder": lambda path: path.symlink_to("/proc/uptime/below"),
}


@pytest.fixture(params=RICH)
def recorded(request: pytest.FixtureRequest) -> RootedSystem:
    return RootedSystem(HOSTS / request.param)


@pytest.fixture
def tree(tmp_path: Path, recorded: RootedSystem, request: pytest.FixtureRequest) -> Path:
    name = request.node.callspec.params["recorded"]
    return Path(shutil.copytree(HOSTS / name / "rootfs", tmp_path / "root", symlinks=True))


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")


def report_of(system: InTree, matrix: Matrix) -> HostReport:
    return collect(system, matrix.cloud_matchers(), matrix.maker_signs(), full=True)


def states(report: HostReport) -> dict[str, str]:
    return {path: entry.state for path, entry in report.provenance.items()}


def test_the_real_port_reads_of_a_tree_what_the_recorded_one_does(tree: Path, recorded: RootedSystem, matrix: Matrix) -> None:
    real, replayed = report_of(InTree(tree, recorded), matrix), collect(recorded, matrix.cloud_matchers(), matrix.maker_signs(), full=True)
    assert not differing(real, replayed) - {"disk", "memory", "container_runtime"}  # space, leave and sockets are this machine's


def differing(one: HostReport, other: HostReport) -> set[str]:
    first, second = msgspec.to_builtins(one), msgspec.to_builtins(other)
    return {name for name in first.keys() | second.keys() if name != "provenance" and first.get(name) != second.get(name)}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_file_that_is_none_costs_its_own_facts(tree: Path, recorded: RootedSystem, matrix: Matrix, fault: str) -> None:
    clean = InTree(tree, recorded)
    before = states(report_of(clean, matrix))
    for path in dict.fromkeys(clean.read_paths):
        place = tree / path.lstrip("/")
        if not place.is_file() or place.is_symlink():
            continue
        kept = place.read_bytes()
        place.unlink()
        FAULTS[fault](place)
        report = report_of(InTree(tree, recorded), matrix)
        place.rmdir() if fault == "folder" else place.unlink()
        place.write_bytes(kept)
        assert [entry.why for entry in report.provenance.values() if (entry.why or "").startswith("internal")] == [], path
        assert msgspec.json.decode(msgspec.json.encode(report), type=HostReport) == report
        after = states(report)
        assert len(msgspec.json.encode(report)) < 1 << 20
        lost = [name for name in before if before[name] == "found" and after.get(name) != "found"]
        assert len(lost) <= len(before) // 2, (path, lost)
    assert states(report_of(InTree(tree, recorded), matrix)) == before


@pytest.mark.parametrize("fault", ["pipe", "folder", "link to itself", "unreadable", "device"])
def test_what_is_there_and_cannot_be_read_is_not_called_absent(tree: Path, recorded: RootedSystem, fault: str) -> None:
    place = tree / "proc/meminfo"
    place.unlink()
    FAULTS[fault](place)
    fact = InTree(tree, recorded).read("/proc/meminfo")
    assert isinstance(fact, Unreadable)
    assert fact.why
