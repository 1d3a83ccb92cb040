"""The JSON files beside a recorded host's tree, decoded strictly: a misspelt key is an error, not a fact that is missing."""

from __future__ import annotations

import os
from typing import Literal, TypeVar

import msgspec

from envcheck.errors import InputError
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.files import read_bounded
from envcheck.system.port import DiskSpace, NvmlReport

T = TypeVar("T")

_MAX_BYTES = 16 << 20
ENTRIES = ("rootfs", "commands.json", "nvml.json", "env.json", "system.json", "http.json")


class RecordedCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a command answered, or why it could not."""

    status: int = 0
    stdout: str = ""
    stderr: str = ""
    error: Literal["timeout", "permission"] | None = None


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


class RecordedSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is no file.

    (system, kernel release, machine); (C library, version); disk and leave to write by path prefix; executables; unreadable paths.
    """

    uname: tuple[str, str, str] | None = None
    libc: tuple[str, str] | None = None
    disk: dict[str, DiskSpace] = {}
    writable: dict[str, bool] = {}
    which: dict[str, str] = {}
    unreadable: dict[str, str] = {}


class RecordedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The answer to one URL, `url` the final one, or why there was none."""

    status: int = 200
    body: str = ""
    url: str | None = None
    error: str | None = None


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
