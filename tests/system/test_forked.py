from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envcheck.system.forked import Outcome, Send, forked

pytestmark = pytest.mark.usefixtures("processes")


def test_messages_arrive_in_order_and_whole() -> None:
    def work(send: Send) -> None:
        for number in range(3):
            send(bytes([number]) * 100_000)

    assert forked(work, 5, 5) == Outcome([bytes([n]) * 100_000 for n in range(3)], "done")


def test_an_empty_message_is_a_message() -> None:
    assert forked(lambda send: send(b""), 5, 5) == Outcome([b""], "done")


def test_a_hang_ends_at_the_first_deadline_and_keeps_what_came_before() -> None:
    def work(send: Send) -> None:
        send(b"early")
        time.sleep(60)

    start = time.monotonic()
    assert forked(work, 0.3, 30) == Outcome([b"early"], "timeout")
    assert time.monotonic() - start < 3


def test_progress_extends_the_first_deadline_but_not_the_second() -> None:
    def work(send: Send) -> None:
        for _ in range(100):
            time.sleep(0.1)
            send(b".")

    outcome = forked(work, 0.4, 1.0)
    assert outcome.end == "timeout"
    assert 2 <= len(outcome.messages) <= 10


def test_a_crash_is_told_with_its_signal_and_what_came_before() -> None:
    def work(send: Send) -> None:
        send(b"early")
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)

    assert forked(work, 5, 5) == Outcome([b"early"], "crashed", "signal 11")


def test_an_exit_behind_our_back_is_a_crash() -> None:
    assert forked(lambda send: os._exit(3), 5, 5) == Outcome([], "crashed", "exit status 3")


def test_an_exception_is_told_in_words_and_does_not_escape() -> None:
    def work(send: Send) -> None:
        raise RuntimeError("boom")

    assert forked(work, 5, 5) == Outcome([], "crashed", "RuntimeError: boom")


def test_a_child_that_floods_us_is_stopped() -> None:
    def work(send: Send) -> None:
        while True:
            send(b"x" * 1_000_000)

    outcome = forked(work, 30, 30)
    assert (outcome.end, outcome.detail) == ("crashed", "sent too much")


def test_the_child_holds_none_of_our_files() -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)

    def work(send: Send) -> None:
        try:
            os.write(writer, b"still open")
        except OSError:
            send(b"closed")
        send(os.readlink("/proc/self/fd/1").encode())

    assert forked(work, 5, 5) == Outcome([b"closed", b"/dev/null"], "done")
    os.close(reader)
    os.close(writer)


def test_no_child_is_left_behind() -> None:
    forked(lambda send: time.sleep(60), 0.1, 0.1)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_ignored_child_signal_does_not_break_it() -> None:
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert forked(lambda send: send(b"here"), 5, 5) == Outcome([b"here"], "done")
    finally:
        signal.signal(signal.SIGCHLD, previous)


def test_a_child_whose_parent_was_killed_ends_by_itself(tmp_path: Path) -> None:
    hang = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    program = f"from envcheck.system.forked import forked; forked(lambda send: exec({hang!r}), 50, 0.5)"
    parent = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    until = time.monotonic() + 20
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) and time.monotonic() < until:
        time.sleep(0.005)
    parent.kill()
    parent.wait()
    child = int((tmp_path / "pid").read_text())
    while alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(child)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # dead, and its new parent has not looked yet
