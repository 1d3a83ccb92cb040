"""Running a command that may hang, never end its output, or leave children behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.files import find_executable
from envcheck.system.port import CommandResult

KEEP = 65_536  # bytes kept of each stream
_GIVE_UP = 8 << 20  # bytes of both streams together after which the command is taken for endless
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_TICK_S = 0.02  # how soon the end of a command is noticed while a grandchild holds its output open


def run(argv: Sequence[str], env: Mapping[str, str], timeout: float) -> Fact[CommandResult]:
    """Run `argv` without a shell in its own session, `LC_ALL=C`, standard input empty.

    At most 64 KiB of each stream are kept. Whatever is left of the process group is killed at the end, in time or not (seconds).
    Absent = no such command.
    """
    with _taken_along():
        return _run(argv, env, timeout)


class _ToldToEndError(BaseException):
    """A signal that ends this process has arrived."""


@contextmanager
def _taken_along() -> Iterator[None]:
    """A signal that ends us ends the command first: in a session of its own it would stay behind, hanging for ever."""
    told: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        told.append(number)
        raise _ToldToEndError

    ours = []
    with suppress(ValueError):  # another thread than the main one gets no signals
        for number in _ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)
                ours.append(number)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        if told:
            os.kill(os.getpid(), told[0])


def _run(argv: Sequence[str], env: Mapping[str, str], timeout: float) -> Fact[CommandResult]:
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**env, "LC_ALL": "C"},
            start_new_session=True,
            close_fds=True,
        )
    except FileNotFoundError:
        return _not_found(argv[0], env)
    except OSError as error:
        return Unreadable((error.strerror or "could not be started").lower())
    except (ValueError, IndexError):  # a zero byte, an empty list
        return Unreadable("not a command")
    try:
        return _watch(process, time.monotonic() + timeout, timeout, argv[0])
    finally:
        _end(process)


def _not_found(name: str, env: Mapping[str, str]) -> Absent | Unreadable:
    """The kernel says the same for a missing command and for a script whose interpreter is missing."""
    if find_executable(name, env.get("PATH", os.defpath)):
        return Unreadable("its interpreter is missing")
    return Absent("no such command")


def _watch(process: subprocess.Popen[bytes], end: float, timeout: float, source: str) -> Fact[CommandResult]:
    """Read both streams until the command has ended and they are dry, or the time is over."""
    streams = {stream.fileno(): bytearray() for stream in (process.stdout, process.stderr) if stream}
    out, err = streams
    poller = select.poll()
    for descriptor in streams:
        os.set_blocking(descriptor, False)
        poller.register(descriptor, select.POLLIN)
    open_streams, read = set(streams), 0
    dry_at: float | None = None  # the command has ended, so what is still in the pipes can be had at once
    while open_streams or dry_at is None:
        now = time.monotonic()
        if dry_at is None and now >= end:
            return Unreadable(f"timed out after {timeout:g} s")
        ready = poller.poll(min(max(end - now, 0), _TICK_S) * 1000) if open_streams else _pause()
        for descriptor, _ in ready:
            data = os.read(descriptor, 65_536)
            read += len(data)
            if not data:
                poller.unregister(descriptor)
                open_streams.discard(descriptor)
            streams[descriptor] += data[: max(KEEP - len(streams[descriptor]), 0)]
        if read > _GIVE_UP:
            return Unreadable("its output does not end")
        if dry_at is not None and (not ready or now > dry_at):
            break  # a grandchild holds the pipes; the command itself has said all it had to say
        if dry_at is None and _has_ended(process):
            dry_at = time.monotonic() + _TICK_S
    return Found(CommandResult(_reap(process), _text(streams[out]), _text(streams[err])), source)


def _pause() -> list[tuple[int, int]]:
    """Both streams are closed but the command runs on."""
    time.sleep(0.002)
    return []


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it ended, leaving it unreaped so that its process group's number cannot be given to another."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # All gone, or a program that took other rights: not ours to kill.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _reap(process: subprocess.Popen[bytes]) -> int:
    _kill_group(process)
    return process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill and reap, but do not wait for what the kernel does not let die."""
    if process.returncode is None:
        _kill_group(process)
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            process.returncode = -signal.SIGKILL  # else the object complains, when it is collected, that nobody waited
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
