"""Answers of the network kept on disk, so that a question asked twice is answered without it and one cut off goes on where it stopped.

What is read back is not trusted: an entry whose digest, key or form is wrong counts as none.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Protocol

import msgspec

_LIMIT = 64 << 20  # bytes of one entry
_MOST, _MOST_BYTES = 1000, 1 << 30  # entries, and what they take together; the oldest go first
_FORM = 1


class Kept(msgspec.Struct, frozen=True):
    """An entry and its age, seconds."""

    body: bytes
    age_s: int


class Store(Protocol):
    """Bytes by key."""

    def get(self, key: str) -> Kept | None:
        """What was put under the key; None where there is nothing whole."""

    def put(self, key: str, body: bytes) -> None:
        """Keep it where that is possible; a full or read-only disk is no error."""


class NoStore(Store):
    """Keeps nothing."""

    def get(self, key: str) -> Kept | None:
        """Nothing."""
        return None

    def put(self, key: str, body: bytes) -> None:
        """Forgotten."""


class _Head(msgspec.Struct):
    """The first line of a file."""

    form: int
    key: str
    sha256: str
    stored_s: float


class FolderStore(Store):
    """One file an entry, written under another name and moved into place."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def get(self, key: str) -> Kept | None:
        """What was put under the key; None where there is nothing whole."""
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(_LIMIT + 4096)
            line, _, body = data.partition(b"\n")
            head = msgspec.json.decode(line, type=_Head)
        except (OSError, ValueError, RecursionError):
            return None
        whole = head.form == _FORM and head.key == key and head.sha256 == _digest(body)
        return Kept(body, max(0, int(time.time() - head.stored_s))) if whole else None

    def put(self, key: str, body: bytes) -> None:
        """Keep it where that is possible; a full or read-only disk is no error."""
        import tempfile

        if len(body) > _LIMIT:
            return
        head = msgspec.json.encode(_Head(_FORM, key, _digest(body), time.time()))
        written = None
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            descriptor, written = tempfile.mkstemp(prefix=".new-", dir=self._folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(head + b"\n" + body)
            os.replace(written, self._path(key))
            self._make_room()
        except OSError:
            if written is not None:
                with contextlib.suppress(OSError):
                    os.unlink(written)

    def _make_room(self) -> None:
        """The newest stay as long as they are neither too many nor too large together."""
        with os.scandir(self._folder) as entries:
            states = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        held = 0
        for number, (state, path) in enumerate(sorted(states, key=lambda item: -item[0].st_mtime_ns)):
            held += state.st_size
            if number >= _MOST or held > _MOST_BYTES:
                os.unlink(path)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, _digest(key.encode("utf-8", "replace")))


def cache_folder(environment: Mapping[str, str]) -> str | None:
    """Where this user's tools keep what can be had again; None where no home is known."""
    told, home = environment.get("XDG_CACHE_HOME", ""), environment.get("HOME", "")
    base = told if told.startswith("/") else f"{home.rstrip('/')}/.cache" if home.startswith("/") else None
    return f"{base.rstrip('/')}/envcheck/models" if base else None


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()
