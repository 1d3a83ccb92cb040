"""From a host and a request to a report: judge, choose the stack, size the model, plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcheck.cli.options import Common
from envcheck.model.host import HostReport
from envcheck.model.report import CheckReport
from envcheck.model.request import Request

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix


def answer(host: HostReport, matrix: Matrix, request: Request, asked: Common) -> CheckReport:
    """The report of one host. Raises what the request makes impossible: a release or a model that does not exist."""
    from envcheck.planning.plan import make_plan
    from envcheck.planning.report import build_report
    from envcheck.planning.stack import choose_stack
    from envcheck.rules.check import judge

    judgement = judge(host, matrix, request)
    choice = choose_stack(judgement, matrix, request)
    plan = make_plan(judgement, matrix, request, choice=choice)
    return build_report(judgement, plan, matrix)
