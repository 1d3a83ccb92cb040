"""A host made up in memory, for probes: files, links, commands and NVML's answers, nothing else."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.model.maker import MakerSigns
from envcheck.model.network import NetworkPlaces
from envcheck.probes.look import Look, OwnInterpreter
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, HttpAnswer, NvmlReport, System

NO_NVML = NvmlReport("LibraryNotFound", "libnvidia-ml.so.1: cannot open shared object file")


class InMemory(System):
    """Satisfies the port; whatever was not put in is absent. `files` values: text, bytes, or Unreadable."""

    def __init__(
        self,
        *,
        files: Mapping[str, str | bytes | Unreadable] | None = None,
        links: Mapping[str, str] | None = None,
        commands: Mapping[str, tuple[int, str] | Unreadable] | None = None,
        which: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        nvml: NvmlReport = NO_NVML,
        libcuda: Fact[int] | None = None,
        disk: Mapping[str, DiskSpace] | None = None,
        writable: Mapping[str, bool] | None = None,
        uname: Fact[tuple[str, str, str]] | None = None,
        libc: Fact[tuple[str, str]] | None = None,
        http: Mapping[str, HttpAnswer | Unreadable] | None = None,
    ) -> None:
        self.files = dict(files or {})
        self.links = dict(links or {})
        self.commands = dict(commands or {})
        self.executables = dict(which or {})
        self.environment = dict(env or {})
        self.report = nvml
        self.libcuda = libcuda or Absent("no such library")
        self.spaces = dict(disk or {})
        self.leave = dict(writable or {})
        self.names = uname or Found(("Linux", "5.15.0-91-generic", "x86_64"), "uname")
        self.c_library = libc or Found(("glibc", "2.35"), "confstr")
        self.answers = http
        self.requests: list[tuple[str, dict[str, str], float, bool]] = []
        self.asked: list[str] = []
        self.started: list[str] = []

    def _real(self, path: str) -> str:
        for _ in range(10):
            for link in sorted(self.links, key=len, reverse=True):
                if path == link or path.startswith(link + "/"):
                    target = posixpath.join(posixpath.dirname(link), self.links[link])
                    path = posixpath.normpath(target + path[len(link) :])
                    break
            else:
                return path
        return path

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        self.asked.append(path)
        content = self.files.get(self._real(path))
        if content is None:
            return Absent("no such file")
        if isinstance(content, Unreadable):
            return content
        return Found((content.encode() if isinstance(content, str) else content)[:limit], path)

    def exists(self, path: str) -> bool:
        real = self._real(path)
        return real in self.files or any(name.startswith(real.rstrip("/") + "/") for name in self.files)

    def resolve(self, path: str) -> Fact[str]:
        return Found(self._real(path), path) if self.exists(path) else Absent("no such file")

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        parts = pattern.split("/")
        found = set()
        for name in [*self.files, *self.links]:
            head = name.split("/")[: len(parts)]
            if len(head) == len(parts) and all(fnmatchcase(have, want) for have, want in zip(head, parts, strict=True)):
                found.add("/".join(head))
        return tuple(sorted(found)[:limit])

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        command = " ".join(argv)
        self.started.append(command)
        answer = self.commands.get(command)
        if answer is None:
            return Absent("no such command")
        return answer if isinstance(answer, Unreadable) else Found(CommandResult(answer[0], answer[1], ""), argv[0])

    def which(self, name: str) -> str | None:
        return self.executables.get(name)

    def env(self) -> Mapping[str, str]:
        return self.environment

    def nvml(self) -> NvmlReport:
        return self.report

    def libcuda_version(self) -> Fact[int]:
        return self.libcuda

    def disk(self, path: str) -> Fact[DiskSpace]:
        for prefix in sorted(self.spaces, key=len, reverse=True):
            if path.startswith(prefix):
                return Found(self.spaces[prefix], prefix)
        return Unreadable("no such place")

    def writable(self, path: str) -> Fact[bool]:
        found = [prefix for prefix in sorted(self.leave, key=len, reverse=True) if path.startswith(prefix)]
        return Found(self.leave[found[0]], found[0]) if found else Unreadable("not recorded")

    def uname(self) -> Fact[tuple[str, str, str]]:
        return self.names

    def libc(self) -> Fact[tuple[str, str]]:
        return self.c_library

    def http_get(
        self, url: str, headers: Mapping[str, str], timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False
    ) -> Fact[HttpAnswer]:
        if self.answers is None:
            raise AssertionError("a probe asked the network")
        self.requests.append((url, dict(headers), timeout, direct))
        answer = self.answers.get(url, Unreadable("not recorded"))
        return answer if isinstance(answer, Unreadable) else Found(answer, url)


@pytest.fixture
def in_memory() -> type[InMemory]:
    """The class itself, for tests that need the system in hand."""
    return InMemory


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    """The shipped facts."""
    return Matrix(Path(__file__).parents[2] / "matrices")


@pytest.fixture(scope="session")
def makers(matrix: Matrix) -> tuple[MakerSigns, ...]:
    """The signs of the makers in the shipped facts."""
    return matrix.maker_signs()


@pytest.fixture
def look(makers: tuple[MakerSigns, ...]) -> Callable[..., Look]:
    """`look(files={…}, nvml=…, python=…)`: a visit to a host made up of the arguments, with the shipped makers unless others are given."""
    shipped = makers

    def visit(
        *,
        python: str | None = None,
        own: OwnInterpreter | None = None,
        matchers: tuple[Any, ...] = (),
        makers: tuple[MakerSigns, ...] = shipped,
        full: bool = False,
        network: NetworkPlaces | None = None,
        **host: Any,
    ) -> Look:
        return Look(InMemory(**host), matchers, makers, python, own, full=full, network=network)

    return visit


def uevent(address: str, ids: str, class_code: str, driver: str | None = None) -> str:
    """A function's uevent file as Linux writes it."""
    lines = [f"DRIVER={driver}"] if driver else []
    lines += [f"PCI_CLASS={class_code}", f"PCI_ID={ids}", "PCI_SUBSYS_ID=10DE:1482", f"PCI_SLOT_NAME={address}"]
    return "\n".join([*lines, f"MODALIAS=pci:v0000{ids.replace(':', 'd0000')}"]) + "\n"


@pytest.fixture
def bus() -> Callable[..., dict[str, str]]:
    """`bus(("0000:00:07.0", "10DE:2236", "30200", "nvidia"), …)`: the files of a PCI bus holding these and a host bridge."""

    def files(*functions: tuple[str, str, str, str | None]) -> dict[str, str]:
        every = (("0000:00:00.0", "8086:1237", "60000", None), *functions)
        return {f"/sys/bus/pci/devices/{one[0]}/uevent": uevent(*one) for one in every}

    return files
