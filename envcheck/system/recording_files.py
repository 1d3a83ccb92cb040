"""Writing a recorded host: whole or not at all, beside its place first, for its owner's eyes only."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from envcheck.errors import InputError, UsageError, cannot_write
from envcheck.model.fact import Found
from envcheck.system.recording import RecordingSystem
from envcheck.system.recording_replay import Redacted, differences
from envcheck.system.recording_tables import answers, commands, environment, nvml, rest
from envcheck.system.recording_tree import Planter, Tree
from envcheck.system.redaction import Redactor
from envcheck.system.rooted import RootedSystem
from envcheck.system.rooted_files import ENTRIES, Exact, RecordedSystem, load

_OURS = frozenset((*ENTRIES, "expected.json"))  # the last is added by hand where a recording becomes a test

_NOT_HERE = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.ENOENT, errno.ENOTDIR, errno.EEXIST})


class Recorded(msgspec.Struct, frozen=True):
    """What was written: files of the host (also empty ones), redacted paths for which there was no room, replacements by kind."""

    folder: str
    files: int
    left_out: tuple[str, ...]
    replaced: dict[str, int]
    redactor: Redactor


def write(visit: RecordingSystem, folder: str, *, force: bool = False) -> Recorded:
    """Write a visit; see `RecordingSystem.write`."""
    try:
        target = os.path.abspath(folder)
    except OSError as error:  # the folder we were started in is gone
        raise cannot_write(folder, error) from None
    _refuse(target, folder, force)
    redactor = Redactor()
    _learn(visit, redactor)
    told = Redacted(visit, redactor)
    tree = Planter(told).plant()
    draft = _draft(target)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.mkdir(draft, 0o700)
        _fill(draft, told, tree)
        _put_in_place(draft, target)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise cannot_write(folder, error) from None
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Recorded(folder, len(tree.files), tuple(tree.left_out), redactor.counts(), redactor)


def _draft(target: str) -> str:
    """Beside the target, or in it: what is mounted into a container cannot be renamed, and what lies around it is another file system."""
    within = os.path.isdir(target) and (not os.listdir(target) or os.path.ismount(target))
    return os.path.join(target, f".{os.getpid()}.new") if within else f"{target}.{os.getpid()}.new"


def _refuse(target: str, folder: str, force: bool) -> None:
    """Only a new place, an empty folder, or with `force` an earlier recording; nothing through a link, which leads elsewhere."""
    if os.path.islink(target):
        raise UsageError("error.record-link", folder=folder)
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise UsageError("error.record-no-folder", folder=folder)
    try:
        names = set(os.listdir(target))
    except OSError as error:
        raise cannot_write(folder, error) from None
    if names and not _is_recording(target, names):
        raise UsageError("error.record-foreign", folder=folder)
    if names and not force:
        raise UsageError("error.record-exists", folder=folder)


def _is_recording(target: str, names: set[str]) -> bool:
    """Whether the folder holds a recording made by us and nothing besides."""
    try:
        system = load(target, "system.json", RecordedSystem) if names <= _OURS else None
    except InputError:
        return False
    return system is not None and system.partial


def _learn(visit: RecordingSystem, redactor: Redactor) -> None:
    """Names first: an account is known by its home folder and must not be missed where it stands alone."""
    inner = visit.inner
    redactor.learn_environment(inner.env())
    for path in ("/etc/hostname", "/proc/sys/kernel/hostname"):
        fact = inner.read(path, 1024)
        if isinstance(fact, Found):
            redactor.names.learn_host(fact.value.decode("utf-8", "surrogateescape"))
    accounts = inner.read("/etc/passwd")
    if isinstance(accounts, Found):
        redactor.names.learn_accounts(accounts.value.decode("utf-8", "surrogateescape"))
    for text in _texts(visit):
        redactor.learn(text)
    if visit.report:
        parts = ((gpu.uuid, *(part.uuid for part in gpu.mig_devices)) for gpu in visit.report.gpus)
        redactor.learn_devices(uuid for row in parts for uuid in row if uuid)


def _texts(visit: RecordingSystem) -> Iterator[str]:
    for path, (_, fact) in visit.files.items():
        yield path
        if isinstance(fact, Found) and not fact.value.startswith(b"\x7fELF"):
            yield fact.value.decode("utf-8", "surrogateescape")
    yield from visit.there
    for path, place in visit.places.items():
        yield from (path, place.value if isinstance(place, Found) else path)
    for _, paths in visit.patterns.values():
        yield from paths
    for words, (_, ran) in visit.commands.items():
        yield from words
        if isinstance(ran, Found):
            yield from (ran.value.stdout, ran.value.stderr)
    for url, (_, answer) in visit.answers.items():
        yield from (url, answer.value.body.decode("utf-8", "surrogateescape") if isinstance(answer, Found) else url)


def _fill(draft: str, told: Redacted, tree: Tree) -> None:
    root = os.path.join(draft, "rootfs")
    os.mkdir(root, 0o700)
    _grow(root, tree)
    known = rest(told, tree)
    for name, table in (
        ("env.json", environment(told)),
        ("commands.json", commands(told)),
        ("nvml.json", nvml(told)),
        ("http.json", answers(told)),
        ("system.json", known),
    ):
        if table:
            _json(os.path.join(draft, name), table)
    exact, absent = differences(told, RootedSystem(draft), frozenset(tree.left_out))
    if absent or exact != Exact():
        os.unlink(os.path.join(draft, "system.json"))
        _json(os.path.join(draft, "system.json"), msgspec.structs.replace(known, exact=exact, absent=absent))


def _grow(root: str, tree: Tree) -> None:
    """Every folder is one we just made, so that nothing is ever written through a link."""
    for path in sorted(tree.folders, key=lambda folder: (folder.count("/"), folder)):
        if not _made(partial(os.mkdir, os.fsencode(root + path), 0o700)):
            tree.left_out.append(path)
    for path, content in tree.files.items():
        if not _made(partial(_file, os.fsencode(root + path), content)):
            tree.left_out.append(path)
    for path, text in tree.links.items():
        if not _made(partial(os.symlink, os.fsencode(text), os.fsencode(root + path))):
            tree.left_out.append(path)


def _made(make: Callable[[], None]) -> bool:
    """Whether it could be made here; a name may be longer than this file system takes, a full one is an error."""
    try:
        make()
    except OSError as error:
        if error.errno in _NOT_HERE:
            return False
        raise
    return True


def _file(path: str | bytes, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)


def _json(path: str, value: object) -> None:
    _file(path, msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n")


def _put_in_place(draft: str, target: str) -> None:
    """An earlier recording goes only when the new one is complete; it was made of our own files, links are removed, not followed."""
    if os.path.dirname(draft) == target:
        _move_in(draft, target)
        return
    if not os.path.lexists(target):
        os.rename(draft, target)
        return
    old = f"{target}.{os.getpid()}.old"
    os.rename(target, old)
    try:
        os.rename(draft, target)
    except OSError:
        os.rename(old, target)
        raise
    kept = os.path.join(old, "expected.json")
    if os.path.isfile(kept) and not os.path.islink(kept):
        os.rename(kept, os.path.join(target, "expected.json"))
    shutil.rmtree(old, ignore_errors=True)


def _move_in(draft: str, target: str) -> None:
    for name in ENTRIES:
        path = os.path.join(target, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
    for name in os.listdir(draft):
        os.rename(os.path.join(draft, name), os.path.join(target, name))
    os.rmdir(draft)
