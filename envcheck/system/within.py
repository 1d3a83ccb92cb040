"""A time limit for calls that have none: a name look-up, a file system whose server is gone."""

from __future__ import annotations

import _thread  # threading itself takes a hundredth of a whole check to load
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T | None:
    """The result of `work`, or None when it takes longer: then its thread is left behind and dies with the process."""
    results: list[T] = []
    failures: list[BaseException] = []

    done = _thread.allocate_lock()
    done.acquire()

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:  # belongs to the caller, not to the thread
            failures.append(error)
        finally:
            done.release()

    _thread.start_new_thread(body, ())
    done.acquire(timeout=seconds)
    if failures:
        raise failures[0]
    return results[0] if results else None
