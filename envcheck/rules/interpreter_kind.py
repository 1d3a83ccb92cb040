"""The rule on what kind of interpreter the target is: no compiled wheel fits one that is not CPython with its lock in 64 bit."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.make import error, remedy
from envcheck.rules.situation import Situation, part, text, unsuited

_SHOWN = 40


def kind(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """PyPy and others, a free-threaded build, 32 bit."""
    which = unsuited(situation.host)
    if which:
        python = matrix.policy.planned_python
        present, made = text(situation.host.python, "version")[:_SHOWN], text(situation.host.python, "implementation")[:_SHOWN]
        ways = (remedy("fresh-environment", "newer-python", f"uv venv --python {python}", python=python),)
        bits = part(situation.host.python, "bits")
        yield error(
            "python-unsupported", which, present=present or "3", made=made, bits=bits if isinstance(bits, int) else None, remedies=ways
        )
