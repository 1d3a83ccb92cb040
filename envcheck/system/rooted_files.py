"""The JSON files beside a recorded host's tree, decoded strictly: a misspelt key is an error, not a fact that is missing."""

from __future__ import annotations

import os
from typing import Generic, Literal, TypeVar

import msgspec

from envcheck.errors import InputError
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.files import read_bounded
from envcheck.system.port import CommandResult, DiskSpace, HttpAnswer, NvmlReport

T = TypeVar("T")

_MAX_BYTES = 16 << 20
ENTRIES = ("rootfs", "commands.json", "nvml.json", "env.json", "system.json", "http.json")


class RecordedCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a command answered, or why it could not: `error` in short, `absent` and `unreadable` in the words of the host."""

    status: int = 0
    stdout: str = ""
    stderr: str = ""
    error: Literal["timeout", "permission"] | None = None
    absent: str | None = None
    unreadable: str | None = None

    def fact(self, name: str, timeout: float) -> Fact[CommandResult]:
        """The answer of the command `name`, asked with a time limit in seconds."""
        if self.error is not None:
            return Unreadable(f"timed out after {timeout:g} s" if self.error == "timeout" else "permission denied")
        if self.absent is not None:
            return Absent(self.absent)
        return (
            Unreadable(self.unreadable)
            if self.unreadable is not None
            else Found(CommandResult(self.status, self.stdout, self.stderr), name)
        )


class RecordedVersion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """libcuda's version (12040 = 12.4) and the file it came from, or why there is none: exactly one of the three reasons."""

    value: int | None = None
    source: str = "libcuda.so.1"
    absent: str | None = None
    unreadable: str | None = None


class RecordedNvml(NvmlReport, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """NVML's report, with libcuda's version beside it."""

    libcuda_version: RecordedVersion | None = None

    def report(self) -> NvmlReport:
        """The report alone."""
        return NvmlReport(**{field: getattr(self, field) for field in NvmlReport.__struct_fields__})

    def libcuda_fact(self) -> Fact[int]:
        """The version as a fact."""
        recorded = self.libcuda_version
        if recorded is None:
            return Unreadable("not recorded")
        if recorded.value is not None:
            return Found(recorded.value, recorded.source)
        return Absent(recorded.absent) if recorded.absent is not None else Unreadable(recorded.unreadable or "not recorded")


class RecordedFact(msgspec.Struct, Generic[T], frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An answer word for word: exactly one of the three."""

    found: T | None = None
    source: str = ""
    absent: str | None = None
    unreadable: str | None = None

    def fact(self) -> Fact[T]:
        """The answer."""
        if self.found is not None:
            return Found(self.found, self.source)
        return Absent(self.absent) if self.absent is not None else Unreadable(self.unreadable or "not recorded")


class Exact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Answers that neither the tree nor the other fields give, by the path or pattern asked for; bytes as base64."""

    read: dict[str, RecordedFact[bytes]] = {}
    exists: dict[str, bool] = {}
    resolve: dict[str, RecordedFact[str]] = {}
    glob: dict[str, list[str]] = {}
    disk: dict[str, RecordedFact[DiskSpace]] = {}
    writable: dict[str, RecordedFact[bool]] = {}
    uname: RecordedFact[tuple[str, str, str]] | None = None
    libc: RecordedFact[tuple[str, str]] | None = None


class RecordedSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is no file.

    (system, kernel release, machine); (C library, version); disk and leave to write by path prefix; executables (None = not on PATH);
    unreadable paths. `partial` = only what was asked is known, so that a file or command never asked about is no absent one; `absent` =
    paths asked about and not there. `exact` = what else was answered.
    """

    uname: tuple[str, str, str] | None = None
    libc: tuple[str, str] | None = None
    disk: dict[str, DiskSpace] = {}
    writable: dict[str, bool] = {}
    which: dict[str, str | None] = {}
    unreadable: dict[str, str] = {}
    partial: bool = False
    absent: frozenset[str] = frozenset()
    exact: Exact = Exact()


class RecordedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The answer to one URL, `url` the final one, or why there was none; `data` (base64) where the body is no text."""

    status: int = 200
    body: str = ""
    url: str | None = None
    error: str | None = None
    data: bytes | None = None
    truncated: bool = False
    source: str | None = None
    date_ahead_s: int | None = None

    def fact(self, url: str, limit: int) -> Fact[HttpAnswer]:
        """The answer, at most `limit` bytes of its body."""
        if self.error is not None:
            return Unreadable(self.error)
        body = self.body.encode() if self.data is None else self.data
        cut = self.truncated or len(body) > limit
        return Found(HttpAnswer(self.status, body[:limit], self.url or url, cut, self.date_ahead_s), self.source or url)


def load(folder: str, name: str, kind: type[T]) -> T | None:
    """The decoded file `name` of a recording, None where there is none; InputError names the file and the place in it."""
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        return None
    data = read_bounded(path, _MAX_BYTES + 1)
    if not isinstance(data, Found):
        raise InputError("error.recording-unreadable", file=path, reason=data.why)
    if len(data.value) > _MAX_BYTES:
        raise InputError("error.recording-unreadable", file=path, reason=f"larger than {_MAX_BYTES >> 20} MiB")
    try:
        return msgspec.json.decode(data.value, type=kind)
    except msgspec.ValidationError as error:
        reason, _, at = str(error).partition(" - at ")
        raise InputError("error.recording-invalid", file=path, at=at.strip("`") or "$", reason=reason) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError("error.recording-invalid", file=path, at="$", reason=str(error)) from error
