"""Reading files that others wrote: bounded, never blocking, never raising. Shared by the real and the recorded host."""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Callable

from envcheck.model.fact import Absent, Fact, Found, Unreadable

_MAX_ENTRIES = 50_000  # of one folder
_MAX_FOLDERS = 4_096  # listed for one pattern
_PIECE = 1 << 16  # bytes asked for at once: room for more would be mapped and given back by the kernel at every small file
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})

ListFolder = Callable[[str], list[str]]


def read_bounded(path: str, limit: int, shown: str | None = None) -> Fact[bytes]:
    """The first `limit` bytes of a regular or virtual file; `shown` is the name to cite when it is not `path`.

    Pipes, devices and folders are refused before they are opened, for opening alone can block or act.
    """
    source = shown or path
    try:
        refusal = _refusal(os.stat(path))
        if refusal:
            return Unreadable(refusal)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            refusal = _refusal(os.fstat(descriptor))
            return Unreadable(refusal) if refusal else Found(_read_up_to(descriptor, limit), source)
        finally:
            os.close(descriptor)
    except OSError as error:
        return failure(error)
    except ValueError:  # a zero byte or an unpaired surrogate
        return Unreadable("not a path")


def failure(error: OSError) -> Absent | Unreadable:
    """What a failed file operation means: not there, or not to be looked at."""
    if error.errno in _GONE:
        return Absent("no such file")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return Unreadable("permission denied")
    return Unreadable((error.strerror or type(error).__name__).lower())


def _refusal(status: os.stat_result) -> str | None:
    if stat.S_ISREG(status.st_mode):
        return None
    return "is a folder" if stat.S_ISDIR(status.st_mode) else "is no regular file"


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts, left = [], limit
    while left > 0:
        part = os.read(descriptor, min(left, _PIECE))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def list_folder(path: str) -> list[str]:
    """Names in a folder, sorted, at most 50,000; none where it cannot be listed."""
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) >= _MAX_ENTRIES:
                    break
    except (OSError, ValueError):
        return []
    return sorted(names)


def expand(pattern: str, names_in: ListFolder, exists: Callable[[str], bool], limit: int) -> tuple[str, ...]:
    """Absolute paths that match `pattern`, part by part; `*` does not match a leading dot, as in a shell."""
    found = ["/"]
    parts = [part for part in pattern.split("/") if part]
    for depth, part in enumerate(parts, 1):
        if any(sign in part for sign in "*?["):
            found = _matching(found, part, names_in, limit if depth == len(parts) else _MAX_ENTRIES)
        else:
            found = [_join(folder, part) for folder in found]
    if parts and not any(sign in parts[-1] for sign in "*?["):
        found = [path for path in found if exists(path)]
    return tuple(sorted(found[:limit]))


def _matching(folders: list[str], part: str, names_in: ListFolder, limit: int) -> list[str]:
    matched: list[str] = []
    for folder in folders[:_MAX_FOLDERS]:
        if len(matched) >= limit:
            break
        matched += [_join(folder, name) for name in names_in(folder) if _matches(name, part)]
    return matched


def _join(base: str, name: str) -> str:
    return base.rstrip("/") + "/" + name


def _matches(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    head, star, tail = part.partition("*")
    if star and not any(sign in part for sign in "?[") and "*" not in tail:  # nearly every pattern: no regular expression for those
        return len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
    return fnmatch.fnmatchcase(name, part)


def parents(path: str) -> list[str]:
    """The path and its parents, nearest first, ending in `/`."""
    found = [path.rstrip("/") or "/"]
    while found[-1] != "/":
        found.append(found[-1].rpartition("/")[0] or "/")
    return found


def find_executable(name: str, search: str) -> str | None:
    """The first executable file called `name` in the folders of `search`, a value of PATH."""
    folders = [""] if "/" in name else [folder for folder in search.split(":") if folder]
    for folder in folders:
        path = os.path.join(folder, name)
        try:
            if os.access(path, os.X_OK) and stat.S_ISREG(os.stat(path).st_mode):
                return path
        except (OSError, ValueError):
            continue
    return None
