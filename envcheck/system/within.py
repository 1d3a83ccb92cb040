"""A time limit for calls that have none: a name look-up, a file system whose server is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T | None:
    """The result of `work`, or None when it takes longer: then its thread is left behind and dies with the process."""
    results: list[T] = []
    failures: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:  # belongs to the caller, not to the thread
            failures.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    return results[0] if results else None
