"""The file tree of a recording: what was read, what only had to exist, and the links between them, under redacted names."""

from __future__ import annotations

import posixpath

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system.port import System
from envcheck.system.recording_replay import Redacted

MAX_FILES = 4096
MAX_BYTES = 32 << 20
FOLDER = None


class Tree:
    """Nodes by redacted path: contents of a file, `FOLDER`, or the text a link holds. At most 4,096 nodes and 32 MiB."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.folders: set[str] = set()
        self.links: dict[str, str] = {}
        self.left_out: list[str] = []  # redacted paths for which there was no room
        self._left_bytes = MAX_BYTES

    def _has_room(self) -> bool:
        return len(self.files) + len(self.links) + len(self.folders) < MAX_FILES

    def folder(self, path: str) -> bool:
        """Make a folder and those around it; False where a file or link is in the way or there is no room."""
        if path in ("", "/") or path in self.folders:
            return True
        if path in self.links or not self._has_room() or not self.folder(posixpath.dirname(path)):
            return False
        if self.files.get(path):
            return False
        self.files.pop(path, None)
        self.folders.add(path)
        return True

    def file(self, path: str, content: bytes) -> bool:
        """Put a file; False where it has no place or no room."""
        if path in self.folders or path in self.links or len(content) > self._left_bytes:
            return False
        if not (path in self.files or self._has_room()) or not self.folder(posixpath.dirname(path)):
            return False
        self.files[path] = content
        self._left_bytes -= len(content)
        return True

    def link(self, path: str, target: str) -> bool:
        """Put a link to a path of the tree, written relative to where it lies."""
        taken = path in self.files or path in self.folders or path == target
        if path in self.links or taken or not self._has_room() or not self.folder(posixpath.dirname(path)):
            return False
        self.links[path] = posixpath.relpath(target, posixpath.dirname(path))
        return True

    def dangling(self, path: str) -> None:
        """Put a link that leads nowhere: it is listed in its folder and yet not there."""
        if self._has_room() and self.folder(posixpath.dirname(path)):
            self.links.setdefault(path, "(nowhere)")


class Planter:
    """Puts what a visit asked about into a tree, walking every path as the host would."""

    def __init__(self, told: Redacted) -> None:
        self.tree = Tree()
        self._told = told
        self._visit = told.visit
        self._inner: System = told.visit.inner
        self._redactor = told.redactor
        self._real: dict[str, str | None] = {}

    def plant(self) -> Tree:
        """The whole tree: what was read first, the small before the large, then what only exists."""
        read = [(path, fact) for path, (_, fact) in self._visit.files.items() if isinstance(fact, Found)]
        for path, fact in sorted(read, key=lambda entry: (len(entry[1].value), entry[0])):
            place = self._walk(path)
            content = self._told.content(path, fact.value)
            if place is None or not self.tree.file(self._redactor.text(place), content):
                self.tree.left_out.append(self._redactor.text(path))
        for path in self._existing():
            self._exist(path)
        return self.tree

    def _existing(self) -> list[str]:
        """Paths that were there and were not read; deeper ones first, so that what lies around them is known to be a folder."""
        visit = self._visit
        found = {path for path, there in visit.there.items() if there}
        found |= {path for path, fact in visit.places.items() if isinstance(fact, Found)}
        found |= {path for _, paths in visit.patterns.values() for path in paths}
        found |= {path for path, (_, fact) in visit.files.items() if isinstance(fact, Unreadable) and self._resolved(path)}
        return sorted(found, key=lambda path: (-path.count("/"), path))

    def _exist(self, path: str) -> None:
        place = self._walk(path)
        shown = self._redactor.text(place) if place else None
        if not shown or shown in self.tree.folders or shown in self.tree.files or shown in self.tree.links:
            return
        if isinstance(self._inner.resolve(path), Absent) and not self._inner.exists(path):
            self.tree.dangling(shown)
        elif self._is_folder(place or path):
            self.tree.folder(shown)
        else:
            self.tree.file(shown, b"")

    def _is_folder(self, path: str) -> bool:
        """Opening tells; a fake that knows only files says that there is no such file."""
        fact = self._inner.read(path, 0)
        return isinstance(fact, Absent) or fact == Unreadable("is a folder")

    def _resolved(self, path: str) -> str | None:
        if path not in self._real:
            fact = self._inner.resolve(path)
            self._real[path] = fact.value if isinstance(fact, Found) else None
        return self._real[path]

    def _walk(self, path: str) -> str | None:
        """Where the path leads, the links on the way put into the tree; None for what is no path."""
        if not path.startswith("/") or "\0" in path:
            return None
        here = ""
        for part in path.split("/"):
            if part in {"", "."}:
                continue
            if part == "..":
                here = posixpath.dirname(here).rstrip("/")
                continue
            step = f"{here}/{part}"
            real = self._resolved(step)
            if real is None or real == step:
                here = step
                continue
            self.tree.link(self._redactor.text(step), self._redactor.text(real))
            here = real.rstrip("/")
        return here or "/"
