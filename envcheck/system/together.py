"""Several GETs at once, within one time limit: a place that never answers costs the others nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from envcheck.model.fact import Fact, Unreadable
from envcheck.system.port import HttpAnswer, System


def get_together(system: System, urls: Mapping[str, str], each_s: float, all_s: float) -> dict[str, Fact[HttpAnswer]]:
    """The answers by name, of which not a byte of the body is kept; Unreadable for one that took longer than it may (seconds)."""
    answers: dict[str, Fact[HttpAnswer]] = {}

    def ask(name: str, url: str) -> None:
        try:
            answer = system.http_get(url, {}, each_s, 0)
        except Exception as error:  # it would end its thread unseen
            answer = Unreadable(f"internal: {type(error).__name__}")
        answers[name] = answer

    threads = [threading.Thread(target=ask, args=entry, daemon=True) for entry in urls.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + all_s
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0.0))
    given = dict(answers)
    return {name: given.get(name, Unreadable(f"timed out after {all_s:g} s")) for name in urls}
