"""A host of files, an environment and an HTTP server's answers, all in memory."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, HttpAnswer, NvmlReport, System


class MemorySystem(System):
    """A host made of what a test states; `unreadable` = paths that may not be read; `asked` = the GETs made, with their headers."""

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        env: Mapping[str, str] | None = None,
        answers: Mapping[str, HttpAnswer | str] | None = None,
        unreadable: Sequence[str] = (),
    ) -> None:
        self._files, self._env = dict(files or {}), dict(env or {})
        self._answers, self._unreadable = dict(answers or {}), set(unreadable)
        self.asked: list[tuple[str, dict[str, str]]] = []

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        if path in self._unreadable:
            return Unreadable("permission denied")
        return Found(self._files[path][:limit], path) if path in self._files else Absent("no such file")

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path.rstrip("/") + "/") for name in (*self._files, *self._unreadable))

    def resolve(self, path: str) -> Fact[str]:
        return Found(path, path) if self.exists(path) else Absent("no such file")

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        return tuple(sorted(name for name in self._files if fnmatch.fnmatchcase(name, pattern)))[:limit]

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        return Absent("no such command")

    def which(self, name: str) -> str | None:
        return None

    def env(self) -> Mapping[str, str]:
        return self._env

    def nvml(self) -> NvmlReport:
        return NvmlReport("LibraryNotFound")

    def libcuda_version(self) -> Fact[int]:
        return Absent("no libcuda.so.1")

    def disk(self, path: str) -> Fact[DiskSpace]:
        return Absent("not stated")

    def writable(self, path: str) -> Fact[bool]:
        return Absent("not stated")

    def uname(self) -> Fact[tuple[str, str, str]]:
        return Absent("not stated")

    def libc(self) -> Fact[tuple[str, str]]:
        return Absent("not stated")

    def http_get(
        self, url: str, headers: Mapping[str, str], timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False
    ) -> Fact[HttpAnswer]:
        self.asked.append((url, dict(headers)))
        answer = self._answers.get(url, HttpAnswer(404, b"", url))
        return Unreadable(answer) if isinstance(answer, str) else Found(answer, "hub")


@pytest.fixture(scope="session")
def host() -> Callable[..., MemorySystem]:
    return MemorySystem


@pytest.fixture(scope="session")
def answer() -> Callable[..., HttpAnswer]:
    def make(status: int, body: bytes = b"", truncated: bool = False) -> Any:
        return HttpAnswer(status, body, "", truncated)

    return make
