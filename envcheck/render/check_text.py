"""The text of `envcheck check`: the verdict, what binds, what to type, why."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.finding import Finding, Verdict
from envcheck.model.report import CheckReport
from envcheck.render.catalogue import Catalogue
from envcheck.render.findings_text import write_findings, write_remedy
from envcheck.render.host_line import SEPARATOR, host_line
from envcheck.render.layout import wrap_parts
from envcheck.render.page import Page
from envcheck.render.paint import OF_VERDICT, Paint, plain
from envcheck.render.serve_text import served_as_said, write_serve
from envcheck.render.size_text import write_shortage
from envcheck.render.stack_text import clash_sentence, stack_name, write_not_possible, write_stacks
from envcheck.render.undecided_text import write_undecided

_ALTERNATIVES = 3


class View(msgspec.Struct, frozen=True):
    """How much to show: `detail` brief (one line), normal, full. `cloud_name` and `matrix_date` come from the matrix."""

    detail: Literal["brief", "normal", "full"] = "normal"
    findings: int = 5
    cloud_name: str | None = None
    matrix_date: str = ""


def check_text(report: CheckReport, catalogue: Catalogue, view: View, paint: Paint = plain) -> str:
    """The answer of `check` for people, at most 80 columns but for commands."""
    page = Page(catalogue, paint)
    _write_verdict(page, report)
    if view.detail == "brief":
        return page.finish()
    for line in wrap_parts(host_line(report.host, catalogue, view.cloud_name), SEPARATOR, indent="  "):
        page.raw(line)
    said = _write_binding(page, report)
    write_undecided(page, report.undecided, report.host)
    unfit = _unfit_model(report) is not None
    if not unfit:  # nothing to install for a model that no setting makes fit
        _write_commands(page, report, view.detail == "full")
        _write_others(page, report, view.detail == "full")
    if report.plan and not unfit:
        said |= served_as_said(report.plan, catalogue)
    write_findings(page, report.findings, view.findings, view.detail == "full", said)
    _write_hints(page, report, view)
    return page.finish()


def _write_verdict(page: Page, report: CheckReport) -> None:
    key, way_out = f"check.{report.verdict.value}.{report.subject}", None
    plan = report.plan
    if report.verdict is Verdict.BLOCKED and report.subject == "any" and plan and plan.stack is None and plan.ways_out:
        key, way_out = "check.blocked.any-way-out", stack_name(plan.ways_out[0])
    model = _unfit_model(report)
    if model is not None:
        key = "check.blocked.model"
    page.say(key, role=OF_VERDICT[report.verdict], vllm=_subject(report), newest=report.newest, way_out=way_out, model=model)


def _unfit_model(report: CheckReport) -> str | None:
    """The model asked for where nothing but its size blocks the host, else None."""
    first = report.findings[0] if report.verdict is Verdict.BLOCKED and report.findings else None
    if first is None or not first.detail.key.endswith((".size", ".unfit")):
        return None
    return str(first.detail.params.get("model", ""))


def _subject(report: CheckReport) -> str | None:
    stack = report.plan.stack if report.plan else None
    return stack_name(stack) if report.subject in ("any", "environment") and stack and stack.vllm == report.vllm else report.vllm


def _write_binding(page: Page, report: CheckReport) -> set[str]:
    """What decides: on a blocked host the first finding with its way out, else what keeps the newest release away. The sentences said."""
    if report.verdict is Verdict.BLOCKED and report.findings:
        return _write_obstacle(page, report.findings[0])
    if report.binding is None:
        return set()
    page.heading("check.binding-newer", release=report.binding_release or report.newest)
    page.write(clash_sentence(report.binding, page.catalogue), indent="  ")
    # The way out of a newer release is the one that the first line names.
    return {page.catalogue.text(report.binding.detail), page.catalogue.say("remedy.release", vllm=_subject(report))}


def _write_obstacle(page: Page, finding: Finding) -> set[str]:
    detail = page.catalogue.text(finding.detail)
    page.heading("check.binding-blocked")
    page.write(detail, indent="  ")
    for remedy in finding.remedies[:1]:
        write_remedy(page, remedy, "  ")
    return {detail, *(page.catalogue.text(remedy.note) for remedy in finding.remedies[:1])}


def _write_commands(page: Page, report: CheckReport, everything: bool) -> None:
    if report.plan is None:
        return
    # The first line and the way out have said already that something else is installed than what does not run.
    # The findings name the advisories.
    said = ("plan.note.advisories",) if report.subject in ("installed", "requested") else ("plan.note.advisories", "plan.note.way-out")
    notes = [note for note in report.plan.notes if note.key not in said]
    if notes:
        page.blank()
    for note in notes:
        page.write(page.catalogue.text(note))
    if report.plan.install and report.verdict is Verdict.UNKNOWN:
        page.heading("check.install-unknown")
    elif report.plan.install and report.plan.stack and report.verdict is Verdict.BLOCKED and report.subject == "any":
        page.heading("check.install-after")
    # The other installer's commands would push the verdict off the screen.
    for recipe in report.plan.install if everything else report.plan.install[:1]:
        page.heading(f"check.install-{recipe.tool}")
        page.steps(recipe.steps)
    if len(report.plan.install) > 1 and not everything:
        page.say("check.install-other", role="faint")
    write_serve(page, report.plan)
    if report.plan.size and report.plan.size.failure:
        page.blank()
        page.say(f"plan.size-{report.plan.size.verdict}", role="caution")
        write_shortage(page, report.plan.size)


def _write_others(page: Page, report: CheckReport, everything: bool) -> None:
    if report.plan is None:
        return
    limit = 99 if everything else _ALTERNATIVES
    if report.plan.stack:
        write_stacks(page, "check.alternatives", report.plan.alternatives, limit)
        if everything:
            write_not_possible(page, report.plan)
    write_stacks(page, "check.ways-out", report.plan.ways_out, limit)


def _write_hints(page: Page, report: CheckReport, view: View) -> None:
    page.blank()
    if report.findings:
        page.say("check.hint-explain", role="faint", code=report.findings[0].code)
    if report.plan and report.plan.stack:
        page.say("check.hint-plan", role="faint")
    if report.findings and view.detail != "full":
        page.say("check.hint-verbose", role="faint")
    page.say("check.matrix-date", role="faint", date=view.matrix_date)
