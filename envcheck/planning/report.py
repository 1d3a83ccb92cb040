"""The report of `check`: the judgement and its plan in one value."""

from __future__ import annotations

from envcheck.matrix.load import Matrix
from envcheck.model.plan import Plan
from envcheck.model.report import CHECK_SCHEMA, CheckReport
from envcheck.rules.check import Judgement


def build_report(judgement: Judgement, plan: Plan | None, matrix: Matrix) -> CheckReport:
    """What `check` answers."""
    installed = judgement.situation.installed_raw if judgement.subject == "installed" else ""
    return CheckReport(
        schema=CHECK_SCHEMA,
        verdict=judgement.verdict,
        subject=judgement.subject,
        vllm=installed or (judgement.release.raw if judgement.release else None),
        newest=matrix.releases[0].raw,
        engine=judgement.engine,
        binding=judgement.binding,
        binding_release=judgement.binding_release,
        findings=judgement.findings,
        host=judgement.situation.host,
        plan=plan,
        undecided=judgement.undecided,
    )
