"""A time limit for calls that have none."""

from __future__ import annotations

import os
import threading
import time

import pytest

from envcheck.system.within import within


def test_the_result_or_the_error_of_the_work() -> None:
    assert within(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)
    assert within(5, lambda: "again") == "again"


def test_work_that_takes_longer_is_left_behind_and_does_not_answer_for_what_comes_next() -> None:
    held = threading.Event()
    start = time.monotonic()
    assert within(0.05, held.wait) is None
    assert time.monotonic() - start < 2
    assert within(5, lambda: 1) == 1
    held.set()
    time.sleep(0.05)
    assert within(5, lambda: 2) == 2


def test_questions_one_after_the_other_share_a_thread() -> None:
    names = {within(5, threading.get_ident) for _ in range(20)}
    assert len(names) == 1
    assert threading.get_ident() not in names


def test_a_question_within_a_question() -> None:
    assert within(5, lambda: within(5, lambda: 3)) == 3


def test_a_forked_child_asks_a_thread_of_its_own(processes: None) -> None:
    assert within(5, lambda: 1) == 1
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, b"yes" if within(5, lambda: 2) == 2 else b"no")
        finally:
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 10) == b"yes"
    os.waitpid(child, 0)
    os.close(reader)
