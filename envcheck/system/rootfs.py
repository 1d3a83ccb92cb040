"""A file tree that stands for a host's `/`: absolute links and `..` inside it never lead out of it."""

from __future__ import annotations

import errno
import os
import stat

_MAX_LINKS = 40  # as the kernel counts


class Rootfs:
    """Translates a host's path into the tree, following links as that host would."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def place(self, path: str) -> str:
        """The host path with every link followed; raises OSError (ENOENT, ELOOP, …) where the host would. The last part must exist."""
        done: list[str] = []
        waiting = _parts(path)
        links = 0
        while waiting:
            part = waiting.pop()
            if part == "..":
                del done[-1:]
                continue
            here = self.on_disk("/".join([*done, part]))
            mode = os.lstat(here).st_mode
            if not stat.S_ISLNK(mode):
                if waiting and not stat.S_ISDIR(mode):
                    raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                done.append(part)
                continue
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(here)
            done = [] if target.startswith("/") else done
            waiting += _parts(target)
        return "/" + "/".join(done)

    def on_disk(self, path: str) -> str:
        """The tree's file for a host path that holds neither links nor `..`."""
        return os.path.join(self.folder, path.lstrip("/")) if path.strip("/") else self.folder


def _parts(path: str) -> list[str]:
    """Last part first, so that the next one is at the end of the list."""
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]
