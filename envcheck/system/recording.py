"""A system that remembers what it was asked and what it answered, so that the visit can be played again from a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcheck.model.fact import Fact, Found
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, HttpAnswer, NvmlReport, System

if TYPE_CHECKING:
    from envcheck.system.recording_files import Recorded


class AskedVariables(Mapping[str, str]):
    """The environment, remembering which variables' values were looked at."""

    def __init__(self, inner: Mapping[str, str]) -> None:
        self._inner = inner
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        value = self._inner[name]
        self.asked.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)


class RecordingSystem(System):
    """Passes every question to `inner` and remembers question and answer; what was asked before gets the same answer again.

    So a report made through it is of one moment, and the recording is of the same.
    """

    def __init__(self, inner: System) -> None:
        self.inner = inner
        self.variables = AskedVariables(inner.env())
        self.files: dict[str, tuple[int, Fact[bytes]]] = {}
        self.there: dict[str, bool] = {}
        self.places: dict[str, Fact[str]] = {}
        self.patterns: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.commands: dict[tuple[str, ...], tuple[float, Fact[CommandResult]]] = {}
        self.executables: dict[str, str | None] = {}
        self.spaces: dict[str, Fact[DiskSpace]] = {}
        self.leaves: dict[str, Fact[bool]] = {}
        self.answers: dict[str, tuple[int, Fact[HttpAnswer]]] = {}
        self.names: Fact[tuple[str, str, str]] | None = None
        self.c_library: Fact[tuple[str, str]] | None = None
        self.report: NvmlReport | None = None
        self.libcuda: Fact[int] | None = None

    def write(self, folder: str, *, force: bool = False) -> Recorded:
        """Write the visit so far as a recorded host, redacted; `force` = an earlier recording there may be replaced.

        Raises UsageError for a folder that holds anything else, EnvcheckError where it cannot be written.
        """
        from envcheck.system.recording_files import write

        return write(self, folder, force=force)

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        """The first `limit` bytes, as first seen."""
        known = self.files.get(path)
        if known is None or (known[0] < limit and isinstance(known[1], Found) and len(known[1].value) >= known[0]):
            known = self.files[path] = (limit, self.inner.read(path, limit))
        fact = known[1]
        return Found(fact.value[:limit], fact.source) if isinstance(fact, Found) else fact

    def exists(self, path: str) -> bool:
        """Whether the path is there."""
        if path not in self.there:
            self.there[path] = self.inner.exists(path)
        return self.there[path]

    def resolve(self, path: str) -> Fact[str]:
        """The path with every link followed."""
        if path not in self.places:
            self.places[path] = self.inner.resolve(path)
        return self.places[path]

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        """Paths matching a pattern."""
        known = self.patterns.get(pattern)
        if known is None or (known[0] < limit and len(known[1]) >= known[0]):
            known = self.patterns[pattern] = (limit, self.inner.glob(pattern, limit))
        return known[1][:limit]

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        """A command; one that was run is not run again."""
        words = tuple(argv)
        if words not in self.commands:
            self.commands[words] = (timeout, self.inner.run(argv, timeout))
        return self.commands[words][1]

    def which(self, name: str) -> str | None:
        """The path of an executable on PATH."""
        if name not in self.executables:
            self.executables[name] = self.inner.which(name)
        return self.executables[name]

    def env(self) -> Mapping[str, str]:
        """The environment; only variables whose value is looked at are recorded."""
        return self.variables

    def nvml(self) -> NvmlReport:
        """NVML's report."""
        if self.report is None:
            self.report = self.inner.nvml()
        return self.report

    def libcuda_version(self) -> Fact[int]:
        """`cuDriverGetVersion`."""
        if self.libcuda is None:
            self.libcuda = self.inner.libcuda_version()
        return self.libcuda

    def disk(self, path: str) -> Fact[DiskSpace]:
        """Space, bytes."""
        if path not in self.spaces:
            self.spaces[path] = self.inner.disk(path)
        return self.spaces[path]

    def writable(self, path: str) -> Fact[bool]:
        """Whether a file may be made there."""
        if path not in self.leaves:
            self.leaves[path] = self.inner.writable(path)
        return self.leaves[path]

    def uname(self) -> Fact[tuple[str, str, str]]:
        """(system, kernel release, machine)."""
        if self.names is None:
            self.names = self.inner.uname()
        return self.names

    def libc(self) -> Fact[tuple[str, str]]:
        """(name, version) of the C library."""
        if self.c_library is None:
            self.c_library = self.inner.libc()
        return self.c_library

    def http_get(
        self, url: str, headers: Mapping[str, str], timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False
    ) -> Fact[HttpAnswer]:
        """One GET; headers, which may hold a token, are not remembered."""
        known = self.answers.get(url)
        if known is None or (known[0] < limit and isinstance(known[1], Found) and known[1].value.truncated):
            known = self.answers[url] = (limit, self.inner.http_get(url, headers, timeout, limit, direct=direct))
        return known[1]
