"""The machine at hand. Everything slow is imported inside the operation that needs it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.files import expand, failure, find_executable, list_folder, parents, read_bounded
from envcheck.system.nvml import STALL_S, TOTAL_S, NvmlVisit, begin, visit
from envcheck.system.patience import Patience
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, HttpAnswer, NvmlReport, System

if TYPE_CHECKING:
    from envcheck.system.forked import Child

T = TypeVar("T")

_DISK_S = 1.0
# What each gets when others that hang have used up what all may take together; a healthy one needs a fraction of it.
_LEAST_COMMAND_S, _LEAST_DISK_S, _LEAST_NVML_S = 0.1, 0.05, 1.5


class RealSystem(System):
    """The machine we run on, with the environment given (the process's own by default); `offline` answers every GET with Unreadable."""

    def __init__(self, env: Mapping[str, str] | None = None, offline: bool = False) -> None:
        self._env = dict(os.environ if env is None else env)
        self._offline = offline
        self._visit: NvmlVisit | None = None
        self._begun: Child | None = None
        self._patience = Patience()

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        """The first `limit` bytes of a regular or virtual file; pipes, devices and folders are refused unopened."""
        return read_bounded(path, limit)

    def exists(self, path: str) -> bool:
        """Whether the path is there, links followed."""
        try:
            return os.path.exists(path)
        except ValueError:
            return False

    def resolve(self, path: str) -> Fact[str]:
        """The path with every link followed."""
        try:
            return Found(os.path.realpath(path, strict=True), path)
        except OSError as error:
            return failure(error)
        except ValueError:
            return Unreadable("not a path")

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        """Paths matching a pattern, sorted."""
        return expand(pattern, list_folder, self.exists, limit)

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        """A command without a shell, killed with its children at the time limit (seconds), which is shorter once others have hung."""
        from envcheck.system.command import run

        limit = self._patience.limit(timeout, _LEAST_COMMAND_S)
        start = time.monotonic()
        answer = run(argv, self._env, limit)
        if time.monotonic() - start >= limit:
            self._patience.waited(limit)
        return answer

    def which(self, name: str) -> str | None:
        """The path of an executable on PATH."""
        return find_executable(name, self._env.get("PATH", os.defpath))

    def env(self) -> Mapping[str, str]:
        """The environment given."""
        return self._env

    def begin_nvml(self) -> None:
        """Send the child that asks NVML on its way, so that it works beside us; the young process it is forked from is also a small one."""
        if self._visit is None and self._begun is None:
            self._begun = begin()

    def drop_nvml(self) -> None:
        """Give up a child that was sent on its way and that nobody will ask."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.abandon()

    def nvml(self) -> NvmlReport:
        """NVML's report; the first call asks, in a child process, for both this and libcuda."""
        return self._nvml_visit().report

    def libcuda_version(self) -> Fact[int]:
        """`cuDriverGetVersion`; its source is the file the loader took."""
        return self._nvml_visit().libcuda_version

    def _nvml_visit(self) -> NvmlVisit:
        if self._visit is None:
            self._patience.release()
            start = time.monotonic()
            stall, total = (self._patience.limit(limit, _LEAST_NVML_S) for limit in (STALL_S, TOTAL_S))
            begun, self._begun = self._begun, None
            self._visit = visit(stall, total, begun) if begun else visit(stall, total)
            if self._visit.report.status == "Timeout":
                self._patience.waited(time.monotonic() - start)
        return self._visit

    def disk(self, path: str) -> Fact[DiskSpace]:
        """Space at the nearest existing parent, bytes; Unreadable after a second at most, for a lost file server never answers."""
        return self._in_time(partial(_space, path))

    def writable(self, path: str) -> Fact[bool]:
        """Whether this process may write at the nearest existing parent; `access` asks, nothing is written."""
        return self._in_time(partial(_leave, path))

    def _in_time(self, question: Callable[[], Fact[T]]) -> Fact[T]:
        """The answer of a file system, asked in a thread that is left behind where none comes."""
        from envcheck.system.within import within

        limit = self._patience.limit(_DISK_S, _LEAST_DISK_S)
        answer = within(limit, question)
        if answer is not None:
            return answer
        self._patience.waited(limit)
        return Unreadable(f"no answer for {limit:g} s")

    def uname(self) -> Fact[tuple[str, str, str]]:
        """(system, kernel release, machine)."""
        names = os.uname()
        return Found((names.sysname, names.release, names.machine), "uname")

    def libc(self) -> Fact[tuple[str, str]]:
        """(name, version) of the C library this interpreter runs on; musl's version may be ""."""
        try:
            name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        except (ValueError, OSError):  # no such name: not the GNU library
            name = version = ""
        if name and version:
            return Found((name, version), "confstr")
        return self._musl()

    def _musl(self) -> Fact[tuple[str, str]]:
        """Musl names itself nowhere; its loader, run without a program, states the version on standard error."""
        loaders = self.glob("/lib/ld-musl-*", 1)
        if not loaders:
            return Unreadable("neither glibc nor musl")
        answer = self.run([loaders[0]])
        said = answer.value.stderr if isinstance(answer, Found) else ""
        version = said.partition("Version ")[2].split("\n")[0].strip()
        return Found(("musl", version), loaders[0])

    def http_get(
        self, url: str, headers: Mapping[str, str], timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False
    ) -> Fact[HttpAnswer]:
        """One GET; `requests` is imported here."""
        if self._offline:
            return Unreadable("offline")
        from envcheck.system.http import get, get_direct

        return get_direct(url, headers, timeout, limit) if direct else get(url, headers, self._env, timeout, limit)


def _space(path: str) -> Fact[DiskSpace]:
    reason: Absent | Unreadable = Absent("no such file")
    for candidate in parents(os.path.normpath(path)):
        try:
            space = os.statvfs(candidate)
        except OSError as error:
            reason = failure(error)
            if isinstance(reason, Absent):
                continue
            return reason
        except ValueError:
            return Unreadable("not a path")
        return Found(DiskSpace(space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize), candidate)
    return reason


def _leave(path: str) -> Fact[bool]:
    if "\0" in path:
        return Unreadable("not a path")
    for candidate in parents(os.path.normpath(path)):
        if os.path.lexists(candidate):
            return Found(os.access(candidate, os.W_OK, effective_ids=os.access in os.supports_effective_ids), candidate)
    return Absent("no such file")
