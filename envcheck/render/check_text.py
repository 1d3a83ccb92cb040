"""The text of `envcheck check`: the verdict, what binds, what to type, why."""

from __future__ import annotations

from typing import Literal

import msgspec

from envcheck.model.finding import Finding, Verdict
from envcheck.model.plan import Plan
from envcheck.model.report import CheckReport
from envcheck.render.catalogue import Catalogue
from envcheck.render.findings_text import as_said, write_findings, write_remedy
from envcheck.render.host_line import SEPARATOR, host_line
from envcheck.render.layout import wrap_parts
from envcheck.render.page import Page
from envcheck.render.paint import OF_VERDICT, Paint, plain
from envcheck.render.stack_text import clash_sentence, stack_name, write_not_possible, write_stacks

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
    unfit, ways = _unfit_model(report) is not None, _has_ways(report)
    said = _write_binding(page, report, cured=ways)
    if report.undecided:
        from envcheck.render.undecided_text import write_undecided  # noqa: PLC0415  # most hosts tell what decides

        write_undecided(page, report.undecided, report.host)
    if report.plan and ways:
        from envcheck.render.ways_page import write_blocked  # noqa: PLC0415  # a host where all is well never needs it
        from envcheck.render.ways_text import cured  # noqa: PLC0415  # a host where all is well never needs it

        write_blocked(page, report.plan, report.vllm if report.subject == "requested" else None, full=view.detail == "full")
        said |= cured(report.findings, report.plan.ways, catalogue)
    elif not unfit:  # nothing to install for a model that no setting makes fit
        _write_commands(page, report, view.detail == "full")
        _write_others(page, report, view.detail == "full")
    if report.plan and report.plan.model_ways:
        from envcheck.render.ways_text import write_model_ways  # noqa: PLC0415  # only for a model

        write_model_ways(page, report.plan.model_ways, full=view.detail == "full")
    if report.plan and report.plan.serve and not unfit:
        from envcheck.render.serve_text import served_as_said  # noqa: PLC0415  # only for a model

        said |= served_as_said(report.plan, catalogue)
    write_findings(page, report.findings, view.findings, view.detail == "full", said)
    _write_hints(page, report, view)
    return page.finish()


def _write_verdict(page: Page, report: CheckReport) -> None:
    key, way_out = f"check.{report.verdict.value}.{report.subject}", None
    plan = report.plan
    if report.verdict is Verdict.BLOCKED and report.subject == "any" and plan and plan.stack is None and _wheel_first(plan):
        key, way_out = "check.blocked.any-way-out", stack_name(plan.ways_out[0])
    model = _unfit_model(report)
    if model is not None:
        key = "check.blocked.model"
    page.say(key, role=OF_VERDICT[report.verdict], vllm=_subject(report), newest=report.newest, way_out=way_out, model=model)


def _wheel_first(plan: Plan) -> bool:
    """Whether what is planned is a wheel of the release page."""
    from envcheck.render.ways_text import lead  # noqa: PLC0415  # a host where all is well never needs it

    first = lead(plan)
    return bool(plan.ways_out) and (first is None or (first.kind == "wheel" and first.stack == plan.ways_out[0]))


def _leads_somewhere(plan: Plan) -> bool:
    from envcheck.render.ways_text import lead  # noqa: PLC0415  # a host where all is well never needs it

    first = lead(plan)
    return first is not None and first.kind != "hardware" and (first.stack is not None or first.image is not None)


def _has_ways(report: CheckReport) -> bool:
    """Whether a blocked host has ways to show; none are for a model that no setting makes fit."""
    blocked = report.verdict is Verdict.BLOCKED and _unfit_model(report) is None
    return blocked and report.plan is not None and bool(report.plan.ways)


def _unfit_model(report: CheckReport) -> str | None:
    """The model asked for where nothing but its size blocks the host, else None."""
    first = report.findings[0] if report.verdict is Verdict.BLOCKED and report.findings else None
    if first is None or not first.detail.key.endswith((".size", ".unfit")):
        return None
    return str(first.detail.params.get("model", ""))


def _subject(report: CheckReport) -> str | None:
    stack = report.plan.stack if report.plan else None
    return stack_name(stack) if report.subject in ("any", "environment") and stack else report.vllm


def _write_binding(page: Page, report: CheckReport, *, cured: bool) -> set[str]:
    """What decides: on a blocked host the first finding, else what keeps the newest release away. The sentences said.

    `cured` = what to do about it stands below.
    """
    if report.verdict is Verdict.BLOCKED and report.findings:
        return _write_obstacle(page, report.findings[0], cured=cured)
    if report.binding is None:
        return set()
    page.heading("check.binding-newer", release=report.binding_release or report.newest)
    page.write(clash_sentence(report.binding, page.catalogue), indent="  ")
    # The way out of a newer release is the one that the first line names.
    return {page.catalogue.text(report.binding.detail), page.catalogue.say("remedy.release", vllm=_subject(report))}


def _write_obstacle(page: Page, finding: Finding, *, cured: bool) -> set[str]:
    detail = page.catalogue.text(finding.detail)
    page.heading("check.binding-blocked")
    page.write(detail, indent="  ")
    for remedy in () if cured else finding.remedies[:1]:
        write_remedy(page, remedy, "  ")
    return {detail} if cured else {detail, *(as_said(remedy, page.catalogue) for remedy in finding.remedies[:1])}


def _write_commands(page: Page, report: CheckReport, everything: bool) -> None:
    if report.plan is None:
        return
    _write_choice(page, report)
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
    if report.plan.serve:
        from envcheck.render.serve_text import write_serve  # noqa: PLC0415  # only for a model

        write_serve(page, report.plan)
    if report.plan.size and report.plan.size.failure:
        from envcheck.render.size_text import write_shortage  # noqa: PLC0415  # only for a model

        page.blank()
        page.say(f"plan.size-{report.plan.size.verdict}", role="caution")
        write_shortage(page, report.plan.size)


def _write_choice(page: Page, report: CheckReport) -> None:
    """Why another release is planned than the one judged."""
    plan = report.plan
    if plan and plan.stack and plan.choice and report.subject == "any" and plan.stack.vllm != report.vllm:
        from envcheck.render.ways_text import choice_text  # noqa: PLC0415  # most hosts get the newest that runs

        page.blank()
        page.write(choice_text(plan, page.catalogue))


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
    if report.plan and (report.plan.stack or _leads_somewhere(report.plan)):
        asked = report.subject == "requested"
        page.say("check.hint-plan-vllm" if asked else "check.hint-plan", role="faint", vllm=report.vllm)
    if report.findings and view.detail != "full":
        page.say("check.hint-verbose", role="faint")
    page.say("check.matrix-date", role="faint", date=view.matrix_date)
