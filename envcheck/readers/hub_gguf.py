"""A model in a GGUF file on a hub: the list of files, and the headers by requests for a file's beginning; the tensors stay there."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.errors import CannotTellError, EnvcheckError, InputError, UsageError
from envcheck.model.modelspec import ModelSource, ModelSpec, StoredWeights
from envcheck.readers.gguf import GGUF_LIMIT, Gguf, TooShortError, parse_gguf
from envcheck.readers.gguf_file import assembled
from envcheck.readers.gguf_names import GgufName, chosen_file
from envcheck.readers.hub import Hub
from envcheck.readers.remote_file import Repository
from envcheck.system.port import System
from envcheck.system.store import NoStore, Store

_LIST_LIMIT = 8 << 20  # bytes; a repository of a hundred quantizations in parts takes about 100 KiB
_MOST_PARTS = 64  # more are not worth the requests
_STEPS = (1 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20, GGUF_LIMIT)  # bytes read in all; vocabularies take most headers to 5 to 12 MiB


class _Sibling(msgspec.Struct):
    rfilename: str = ""


class _HubList(msgspec.Struct):
    siblings: list[_Sibling]
    sha: str | None = None


class _ScopeFile(msgspec.Struct, rename="pascal"):
    path: str = ""
    revision: str = ""


class _ScopeFiles(msgspec.Struct, rename="pascal"):
    files: list[_ScopeFile]


class _ScopeList(msgspec.Struct, rename="pascal"):
    data: _ScopeFiles


class FileList(msgspec.Struct, frozen=True):
    """The files of a repository at a revision, and what changes when they do."""

    files: list[str]
    state: str = ""


class _Kept(msgspec.Struct, frozen=True):
    """What was read of a file before."""

    config: dict[str, Any]
    stored: StoredWeights


def fetch_gguf(name: str, meant: GgufName, system: System, hub: Hub, revision: str | None = None, store: Store | None = None) -> ModelSpec:
    """The model of a GGUF file on a hub.

    Raises UsageError where the hub knows no such repository or it holds no such file, with those there are; CannotTellError where the hub
    cannot be asked, InputError where the file is broken.
    """
    repository = Repository.of(meant.repository, revision, hub, system, store or NoStore())
    body = _list(repository)
    listed = file_list(body, hub.kind)
    if listed is None:
        raise CannotTellError("error.model-not-asked", name=meant.repository, hub=hub.place, why="no list of files")
    file = chosen_file(meant, hub.place, listed.files)
    repository.store.put(repository.key("files"), body)
    key = repository.key(file, f"gguf {listed.state}")
    kept = _kept(repository.store, key) if listed.state else None
    if kept is None:
        config, stored = assembled(file, lambda path, count: remote_gguf(repository, path, count))
        kept = _Kept(config, stored)
        repository.store.put(key, msgspec.json.encode(kept))
    return _spec(name, repository, kept)


def kept_gguf(name: str, meant: GgufName, system: System, hub: Hub, revision: str | None, store: Store) -> ModelSpec | None:
    """What was read earlier, for when the hub cannot be asked; None where nothing was."""
    try:
        repository = Repository.of(meant.repository, revision, hub, system, store)
        earlier = store.get(repository.key("files"))
        listed = file_list(earlier.body, hub.kind) if earlier else None
        if earlier is None or listed is None:
            return None
        kept = _kept(store, repository.key(chosen_file(meant, hub.place, listed.files), f"gguf {listed.state}"))
    except EnvcheckError:
        return None
    return _spec(name, repository, kept, earlier.age_s) if kept else None


def file_list(body: bytes, kind: str) -> FileList | None:
    """The files that a hub's answer lists; None where it is no list."""
    try:
        if kind == "modelscope":
            found = msgspec.json.decode(body, type=_ScopeList).data.files
            return FileList([file.path for file in found], " ".join(sorted({file.revision for file in found}))[:4096])
        listed = msgspec.json.decode(body, type=_HubList)
        return FileList([file.rfilename for file in listed.siblings], listed.sha or "")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def remote_gguf(repository: Repository, file: str, count: int) -> Gguf:
    """The header of one file, one of `count`, by requests that go on where the one before ended."""
    if count > _MOST_PARTS:
        raise CannotTellError("error.model-not-asked", name=repository.name, hub=repository.hub.place, why=f"{count} files")
    data = b""
    for end in _STEPS:
        try:
            answer = repository.fetch(file, end, end, len(data))
        except UsageError:
            if count > 1:
                raise InputError("error.model-gguf-part", path=repository.name, count=count, part=file) from None
            raise
        begun = len(data)
        # Who knows no ranges sends the file from its beginning.
        data = data + answer.body[: end - begun] if answer.status == Repository.PARTIAL else answer.body
        try:
            header = parse_gguf(data)
        except TooShortError:
            if len(data) < end:  # the file, or the answer, ends here
                break
            continue
        if header is None:
            break
        return header
    raise InputError("error.model-gguf", path=repository.shown(file))


def _list(repository: Repository) -> bytes:
    """The hub's answer that lists the files."""
    answer = repository.fetch_url(repository.hub.list_url(repository.name, repository.revision), "/api/models", _LIST_LIMIT)
    if answer.truncated:
        raise CannotTellError("error.model-not-asked", name=repository.name, hub=repository.hub.place, why="the list of files is too long")
    return answer.body


def _spec(name: str, repository: Repository, kept: _Kept, age_s: int | None = None) -> ModelSpec:
    place = repository.shown("").partition("/resolve/")[0]
    total = kept.stored.total_bytes or None
    return ModelSpec(name, kept.config, ModelSource("hub", place, cached_s=age_s), total, "headers", kept.stored)


def _kept(store: Store, key: str) -> _Kept | None:
    found = store.get(key)
    try:
        return msgspec.json.decode(found.body, type=_Kept) if found else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
