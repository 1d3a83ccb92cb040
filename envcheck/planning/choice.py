"""Which of the releases that run is planned, and why not the next one."""

from __future__ import annotations

from datetime import date

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.request import Request
from envcheck.model.text import Text
from envcheck.rules.check import Judgement
from envcheck.rules.survey import Choice


class Chosen(msgspec.Struct, frozen=True):
    """The wheel chosen, the one that came next (None = there is no other), and in one to three sentences why."""

    choice: Choice
    runner_up: Choice | None
    reasons: tuple[Text, ...]


def choose(candidates: tuple[Choice, ...], judgement: Judgement, matrix: Matrix, request: Request, today: date | None = None) -> Chosen:
    """Choose among wheels that run, newest first and not empty; `today` None = no age is known, and nothing counts as young."""
    return Chosen(candidates[0], candidates[1] if len(candidates) > 1 else None, ())
