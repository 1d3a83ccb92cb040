"""A time limit for calls that have none: a name look-up, a file system whose server is gone."""

from __future__ import annotations

import _thread  # threading itself takes a hundredth of a whole check to load
import os
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T | None:
    """The result of `work`, or None when it takes longer: then its thread is left behind and dies with the process."""
    helper = _idle.pop() if _idle else _Helper()
    if not helper.does(work, seconds):
        return None
    result, failure = helper.result, helper.failure
    helper.result = helper.failure = None
    _idle.append(helper)
    if failure is not None:
        raise failure
    return result  # type: ignore[no-any-return]  # what `work` gave


class _Helper:
    """A thread that waits for work; one that was given up is never asked again."""

    __slots__ = ("_asked", "_done", "_work", "failure", "result")

    def __init__(self) -> None:
        self._asked, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._asked.acquire()
        self._done.acquire()
        self._work: Callable[[], Any] | None = None
        self.result: Any = None
        self.failure: BaseException | None = None
        _thread.start_new_thread(self._serve, ())

    def does(self, work: Callable[[], Any], seconds: float) -> bool:
        """Whether the work was done in time."""
        self._work = work
        self._asked.release()
        return self._done.acquire(timeout=seconds)

    def _serve(self) -> None:
        while True:
            self._asked.acquire()
            work, self._work = self._work, None
            try:
                self.result = work() if work else None
            except BaseException as error:  # belongs to the caller, not to the thread
                self.failure = error
            del work
            self._done.release()


_idle: list[_Helper] = []
os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads
