"""A recorded host: a folder that answers as the host did.

    DIR/rootfs/…       the host's files; links inside never lead out of it
    DIR/commands.json  {"nvidia-smi -L": {"status": 0, "stdout": "…", "stderr": ""}}, keys joined as by `shlex`; or {"error": "timeout"}
    DIR/nvml.json      an NvmlReport, and "libcuda_version": {"value": 12040, "source": "…"} | {"absent": "…"} | {"unreadable": "…"}
    DIR/env.json       the environment
    DIR/system.json    "uname", "libc", "disk" by path prefix (bytes), "writable" by path prefix, "which", "unreadable" {path: why},
                       "partial", "absent" [path], "exact" {operation: {question: answer}}
    DIR/http.json      {url: {"status": 200, "body": "…"}}; or {"error": "…"}

Every entry is optional, one must be there. What was not recorded is Unreadable, never Absent, save three that say "not there" by being
left out: a file, a command, `nvml.json`. A recording made by looking at a host is `partial`: it holds what was asked, so there only the
paths listed as `absent`, and commands with `absent`, are known to be missing. `exact` has precedence over everything else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from envcheck.errors import InputError
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.files import expand, failure, find_executable, list_folder, parents, read_bounded
from envcheck.system.port import READ_LIMIT, CommandResult, DiskSpace, HttpAnswer, NvmlReport, System
from envcheck.system.rooted_files import ENTRIES, RecordedAnswer, RecordedCommand, RecordedNvml, RecordedSystem, load
from envcheck.system.rootfs import Rootfs

_NOT_RECORDED = Unreadable("not recorded")


class RootedSystem(System):
    """The host recorded in `folder`. InputError when it is no recording, or when one of its files is invalid."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)
        if not any(os.path.lexists(os.path.join(self._folder, entry)) for entry in ENTRIES):
            raise InputError("error.not-a-recording", path=self._folder)
        tree = os.path.join(self._folder, "rootfs")
        if os.path.islink(tree) or (os.path.lexists(tree) and not os.path.isdir(tree)):
            # A link could make this machine's own files look like the recorded host's.
            raise InputError("error.recording-unreadable", file=tree, reason="is no folder")
        self._rootfs = Rootfs(tree)
        self._commands = load(self._folder, "commands.json", dict[str, RecordedCommand]) or {}
        recorded = load(self._folder, "nvml.json", RecordedNvml)
        self._nvml = recorded.report() if recorded else NvmlReport("LibraryNotFound", "not recorded")
        self._libcuda = recorded.libcuda_fact() if recorded else Absent("no such library")
        self._environment = load(self._folder, "env.json", dict[str, str]) or {}
        self._system = load(self._folder, "system.json", RecordedSystem) or RecordedSystem()
        self._answers = load(self._folder, "http.json", dict[str, RecordedAnswer]) or {}

    def read(self, path: str, limit: int = READ_LIMIT) -> Fact[bytes]:
        """The first `limit` bytes of a recorded file."""
        if exact := self._system.exact.read.get(path):
            fact = exact.fact()
            return Found(fact.value[:limit], fact.source) if isinstance(fact, Found) else fact
        place = self._place(path)
        if not isinstance(place, Found):
            return place
        refusal = self._forbidden(place.value)
        return Unreadable(refusal) if refusal else read_bounded(self._rootfs.on_disk(place.value), limit, path)

    def exists(self, path: str) -> bool:
        """Whether the path is recorded, links followed; what is listed as unreadable exists."""
        exact = self._system.exact.exists.get(path)
        return exact if exact is not None else path in self._system.unreadable or isinstance(self._place(path), Found)

    def resolve(self, path: str) -> Fact[str]:
        """The host path with every link followed, within the recording."""
        exact = self._system.exact.resolve.get(path)
        return exact.fact() if exact else self._place(path)

    def _place(self, path: str) -> Fact[str]:
        refusal = self._forbidden(path)
        if refusal:
            return Unreadable(refusal)
        try:
            return Found(self._rootfs.place(path), path)
        except OSError as error:
            gap = failure(error)
            return _NOT_RECORDED if isinstance(gap, Absent) and not self._is_absent(path) else gap
        except ValueError:
            return Unreadable("not a path")

    def _is_absent(self, path: str) -> bool:
        """Whether a file that is not in the tree was not on the host either."""
        return not self._system.partial or any(part in self._system.absent for part in parents(path))

    def _forbidden(self, path: str) -> str | None:
        """Why the path, or a folder above it, was unreadable on the host."""
        if not self._system.unreadable:
            return None
        return next((self._system.unreadable[part] for part in parents(path) if part in self._system.unreadable), None)

    def _names_in(self, path: str) -> list[str]:
        place = self._place(path)
        return list_folder(self._rootfs.on_disk(place.value)) if isinstance(place, Found) else []

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        """Recorded paths matching a pattern, sorted."""
        exact = self._system.exact.glob.get(pattern)
        return tuple(exact[:limit]) if exact is not None else expand(pattern, self._names_in, self.exists, limit)

    def run(self, argv: Sequence[str], timeout: float = 2.0) -> Fact[CommandResult]:
        """What the command answered when it was recorded."""
        import shlex

        recorded = self._commands.get(shlex.join(argv))
        if recorded is None:
            return _NOT_RECORDED if self._system.partial else Absent("no such command")
        return recorded.fact(argv[0], timeout)

    def which(self, name: str) -> str | None:
        """The path recorded for an executable, else an executable file of the tree on the recorded PATH."""
        if name in self._system.which:
            return self._system.which[name]
        folders = [name] if "/" in name else [f"{folder}/{name}" for folder in self._environment.get("PATH", "").split(":") if folder]
        for path in folders:
            place = self._place(path)
            if isinstance(place, Found) and find_executable(self._rootfs.on_disk(place.value), ""):
                return path
        return None

    def env(self) -> Mapping[str, str]:
        """The recorded environment."""
        return self._environment

    def nvml(self) -> NvmlReport:
        """The recorded report; without one, the library was not found."""
        return self._nvml

    def libcuda_version(self) -> Fact[int]:
        """The recorded version; without `nvml.json` there is no driver library at all."""
        return self._libcuda

    def disk(self, path: str) -> Fact[DiskSpace]:
        """Space recorded for the longest prefix of the path, bytes."""
        if exact := self._system.exact.disk.get(path):
            return exact.fact()
        for part in parents(os.path.normpath(path)):
            if part in self._system.disk:
                return Found(self._system.disk[part], part)
        return _NOT_RECORDED

    def writable(self, path: str) -> Fact[bool]:
        """What was recorded for the longest prefix of the path."""
        if exact := self._system.exact.writable.get(path):
            return exact.fact()
        for part in parents(os.path.normpath(path)):
            if part in self._system.writable:
                return Found(self._system.writable[part], part)
        return _NOT_RECORDED

    def uname(self) -> Fact[tuple[str, str, str]]:
        """(system, kernel release, machine) as recorded."""
        if self._system.exact.uname:
            return self._system.exact.uname.fact()
        return Found(self._system.uname, "uname") if self._system.uname else _NOT_RECORDED

    def libc(self) -> Fact[tuple[str, str]]:
        """(name, version) of the C library as recorded."""
        if self._system.exact.libc:
            return self._system.exact.libc.fact()
        return Found(self._system.libc, "confstr") if self._system.libc else _NOT_RECORDED

    def http_get(
        self, url: str, headers: Mapping[str, str], timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False
    ) -> Fact[HttpAnswer]:
        """The recorded answer; another URL could not be asked."""
        recorded = self._answers.get(url) or self._answers.get(f"{url.partition('?')[0]}?***")  # a recording hides every query
        return recorded.fact(url, limit) if recorded else _NOT_RECORDED
