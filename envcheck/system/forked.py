"""Work in a forked child with deadlines: what may hang or crash (a driver's library) must not take this process along.

The child sends messages through a pipe as it goes, so that a hang half-way loses only what comes after it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NoReturn

import msgspec

Send = Callable[[bytes], None]

_MAX_BYTES = 4 << 20  # of all messages together: a runaway child must not fill our memory
_MESSAGE, _ERROR, _END = b"M", b"E", b"Z"
_HEADER = 5  # kind, then the length as 4 bytes


class Outcome(msgspec.Struct, frozen=True):
    """The messages that arrived and how the child ended; `detail` says how it died, "" otherwise."""

    messages: list[bytes]
    end: Literal["done", "timeout", "crashed"]
    detail: str = ""


class Child(msgspec.Struct):
    """A forked child at work; `finish` collects what it sends. One that nobody collects dies of its own alarm, or of the closed pipe."""

    pid: int
    reader: int

    def finish(self, stall_s: float, total_s: float) -> Outcome:
        """Its messages and its end, counted from now: silent for `stall_s` seconds, or not done after `total_s`, it is killed.

        It is not waited for when the kernel does not let it die.
        """
        try:
            messages, end, detail = _collect(self.reader, stall_s, total_s)
        finally:
            os.close(self.reader)
            status = _kill_and_reap(self.pid)
        if end == "crashed" and not detail:
            detail = _how_it_died(status)
        return Outcome(messages, end, detail)

    def abandon(self) -> None:
        """Kill it and let go of what it sent."""
        os.close(self.reader)
        _kill_and_reap(self.pid)


def start(work: Callable[[Send], None], total_s: float) -> Child:
    """Begin `work(send)` in a forked child. Raises OSError where no child can be had."""
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            # Python 3.12 warns that a fork beside threads may deadlock the child; the deadline answers that.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except BaseException:
        os.close(reader)
        os.close(writer)
        raise
    if pid == 0:
        _child(work, writer, total_s)
    os.close(writer)
    return Child(pid, reader)


def forked(work: Callable[[Send], None], stall_s: float, total_s: float) -> Outcome:
    """Run `work(send)` in a forked child to its end; see `Child.finish`. Raises OSError where no child can be had."""
    return start(work, total_s).finish(stall_s, total_s)


def _child(work: Callable[[Send], None], writer: int, total_s: float) -> NoReturn:  # pragma: no cover - runs in the child only
    """Never returns: no exit handler, no flush of the parent's buffers, no traceback of the parent's test runner."""
    try:
        _detach(writer, total_s)
        work(lambda message: _write(writer, _MESSAGE, message))
        _write(writer, _END, b"")
    except BaseException as error:  # whatever it is, it must not run on as a second copy of the parent
        try:
            _write(writer, _ERROR, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:500])
        except BaseException:
            os._exit(71)
    finally:
        os._exit(0)


def _detach(writer: int, total_s: float) -> None:  # pragma: no cover - runs in the child only
    """Let go of every file: a child that cannot die must not keep the parent's standard output open."""
    import resource

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, total_s + 1.0)  # should the parent be killed before it can kill us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        if descriptor != writer:
            os.dup2(null, descriptor)
    os.closerange(3, writer)
    os.closerange(writer + 1, writer + 1024)
    sys.stdout = sys.stderr = None


def _write(writer: int, kind: bytes, payload: bytes) -> None:
    data = memoryview(kind + len(payload).to_bytes(4, "little") + payload)
    while data:
        data = data[os.write(writer, data) :]


def _collect(reader: int, stall_s: float, total_s: float) -> tuple[list[bytes], Literal["done", "timeout", "crashed"], str]:
    """Messages until the child says it is done, dies, or a deadline passes."""
    messages: list[bytes] = []
    buffer, received = bytearray(), 0
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    last = time.monotonic()
    end = last + total_s
    while True:
        now = time.monotonic()
        wait = min(last + stall_s, end) - now
        if wait <= 0:
            return messages, "timeout", ""
        if not poller.poll(wait * 1000):
            continue
        data = os.read(reader, 65536)
        received += len(data)
        if not data:
            return messages, "crashed", ""
        if received > _MAX_BYTES:
            return messages, "crashed", "sent too much"
        buffer += data
        for kind, payload in _complete(buffer):
            last = time.monotonic()
            if kind == _END:
                return messages, "done", ""
            if kind == _ERROR:
                return messages, "crashed", payload.decode("utf-8", "replace")
            messages.append(payload)


def _complete(buffer: bytearray) -> list[tuple[bytes, bytes]]:
    """Take the complete messages off the front of the buffer."""
    found = []
    while len(buffer) >= _HEADER:
        size = _HEADER + int.from_bytes(buffer[1:_HEADER], "little")
        if len(buffer) < size:
            break
        found.append((bytes(buffer[:1]), bytes(buffer[_HEADER:size])))
        del buffer[:size]
    return found


def _kill_and_reap(pid: int, patience_s: float = 0.2) -> int | None:
    """The wait status; None when the child cannot die yet (uninterruptible sleep in the driver) or is not ours to wait for."""
    until = time.monotonic() + patience_s
    killed = False
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # SIGCHLD is ignored in this process
            return None
        if done:
            return status
        if not killed:
            with suppress(ProcessLookupError):  # gone this moment, reaped by the kernel itself
                os.kill(pid, signal.SIGKILL)
            killed = True
        elif time.monotonic() > until:
            return None
        time.sleep(0.0005)


def _how_it_died(status: int | None) -> str:
    if status is None:
        return "did not say"
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"
