"""Writing the files of a plan: whole or not at all, and never over a file that is not ours."""

from __future__ import annotations

import os
from collections.abc import Sequence

from envcheck.errors import UsageError, cannot_write
from envcheck.render.files import HEAD_BYTES, LARGEST_BYTES, NAMES, PlanFile, is_edited, is_ours


def write_files(folder: str, files: Sequence[PlanFile], *, force: bool = False) -> list[str]:
    """Write the files into the folder, made where missing; their paths. Nothing is written when one of them may not be.

    A script that was changed by hand since we wrote it stays, unless `force`.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise UsageError("error.not-a-folder", path=folder) from None
    except OSError as error:
        raise cannot_write(folder, error) from None
    paths = [os.path.join(folder, file.name) for file in files]
    for path in paths:
        _refuse_foreign(path, force=force)
    for path, file in zip(paths, files, strict=True):
        _write(path, file)
    _remove_outdated([os.path.join(folder, name) for name in NAMES if name not in {file.name for file in files}])
    return paths


def _remove_outdated(paths: Sequence[str]) -> None:
    """Files of an earlier plan that this one does not have; a script for another plan beside this one would be started by mistake."""
    for path in paths:
        try:
            _refuse_foreign(path)
            os.unlink(path)
        except (UsageError, OSError):
            continue  # not there, or not ours


def _refuse_foreign(path: str, *, force: bool = False) -> None:
    try:
        # Not through a link, and without waiting should the path be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    except OSError:
        raise UsageError("error.foreign-file", path=path) from None
    try:
        content = os.read(descriptor, LARGEST_BYTES)
        ours, edited = is_ours(content[:HEAD_BYTES]), is_edited(content)
    except OSError:  # a folder
        ours = edited = False
    finally:
        os.close(descriptor)
    if not ours:
        raise UsageError("error.foreign-file", path=path)
    if edited and not force:
        raise UsageError("error.edited-file", path=path)


def _write(path: str, file: PlanFile) -> None:
    """Beside it first, then renamed into place, so that a reader sees the old file or the new one."""
    draft = f"{path}.{os.getpid()}.new"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(file.content)
            out.flush()
            os.fsync(descriptor)
        os.chmod(draft, file.mode)
        os.replace(draft, path)
    except OSError as error:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise cannot_write(path, error) from None
