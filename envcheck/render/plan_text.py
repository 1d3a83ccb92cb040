"""The text of `envcheck plan`: the stack, what must be mended first, how to install and to serve, and what else would do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from envcheck.model.finding import Finding, RemedyKind, Severity
from envcheck.model.host import HostReport
from envcheck.model.plan import Plan
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.findings_text import write_findings, write_remedy
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain
from envcheck.render.serve_text import served_as_said, unfit, write_reasons, write_serve
from envcheck.render.size_text import write_account, write_shortage
from envcheck.render.stack_text import advisories_line, clash_sentence, stack_line, stack_name, write_not_possible, write_stacks
from envcheck.render.undecided_text import write_undecided

_ON_THE_HOST: frozenset[RemedyKind] = frozenset({"service", "container", "reboot", "driver", "hardware"})


class Doubt(msgspec.Struct, frozen=True):
    """The deciding facts that are not known of a host; with none, the plan is no guess."""

    undecided: tuple[Text, ...] = ()
    host: HostReport = HostReport()


_NO_DOUBT = Doubt()


def plan_text(
    plan: Plan, catalogue: Catalogue, *, verbose: bool = False, brief: bool = False, doubt: Doubt = _NO_DOUBT, paint: Paint = plain
) -> str:
    """A plan for people; the commands are the same as in its files. `brief` stops behind what is planned and what stands in its way."""
    page = Page(catalogue, paint)
    said = _write_head(page, plan, doubt)
    if brief:
        return page.finish()
    _write_install(page, plan)
    if plan.install or plan.stack:
        _write_serving(page, plan)
    limit = 99 if verbose else 5
    write_stacks(page, "check.alternatives", plan.alternatives, limit, marked=True)
    write_stacks(page, "check.ways-out", plan.ways_out, limit, marked=True)
    write_not_possible(page, plan)
    said |= served_as_said(plan, catalogue)
    if plan.stack:
        said.add(catalogue.say("remedy.release", vllm=stack_name(plan.stack)))
    write_findings(page, plan.findings, limit, verbose, said)
    return page.finish()


def written_text(plan: Plan, paths: Sequence[str], catalogue: Catalogue, paint: Paint = plain, doubt: Doubt = _NO_DOUBT) -> str:
    """What is planned, what was written, and what to type next."""
    page = Page(catalogue, paint)
    _write_head(page, plan, doubt)
    page.blank()
    for path in paths:
        page.say("plan.wrote", path=path)
    scripts = [path for path in paths if path.endswith(".sh") and not (unfit(plan) and path.endswith("serve.sh"))]
    if scripts:
        page.heading("plan.next")
    for path in scripts:
        page.command(["bash", path])
    return page.finish()


def _write_head(page: Page, plan: Plan, doubt: Doubt) -> set[str]:
    """What is planned, whether the model fits, what is not known or must be mended on the host first. The sentences said."""
    if plan.stack:
        page.say("plan.stack", role="caution" if doubt.undecided else "good", vllm=stack_name(plan.stack))
        page.write(stack_line(plan.stack, page.catalogue), indent="  ")
        mark = advisories_line(plan.stack, page.catalogue)
        if mark:
            page.write(mark, indent="  ", role="faint")
        for warning in plan.stack.warnings:
            page.write(clash_sentence(warning, page.catalogue), indent="  ", role="caution")
    elif plan.install and plan.ways_out:
        page.say("plan.way-out", role="caution", vllm=stack_name(plan.ways_out[0]))
    else:
        page.say("plan.no-stack", role="bad")
    for note in plan.notes:
        page.write(page.catalogue.text(note), indent="  ")
    if plan.install or plan.stack:
        _write_fit(page, plan)
        write_undecided(page, doubt.undecided, doubt.host)
    return _write_obstacles(page, plan)


def _write_fit(page: Page, plan: Plan) -> None:
    size = plan.size
    if size is None:
        return
    key = "asked" if size.verdict == "does-not-fit" and size.suggested.serve_args else size.verdict
    page.say(f"plan.size-{key}", role={"fits": "good", "does-not-fit": "bad"}.get(size.verdict, "caution"))  # type: ignore[arg-type]
    write_shortage(page, size)


def _write_obstacles(page: Page, plan: Plan) -> set[str]:
    """Errors that a fresh environment does not cure: they come first. The sentences said."""
    said: set[str] = set()
    obstacles = [finding for finding in plan.findings if _obstacle(finding)] if plan.stack else []
    if obstacles:
        page.heading("plan.first")
    for finding in obstacles:
        detail = page.catalogue.text(finding.detail)
        page.write(detail, indent="  ")
        write_remedy(page, finding.remedies[0], "  ")
        said |= {detail, page.catalogue.text(finding.remedies[0].note)}
    return said


def _obstacle(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR and bool(finding.remedies) and finding.remedies[0].kind in _ON_THE_HOST


def _write_install(page: Page, plan: Plan) -> None:
    if plan.mirrors:
        page.heading("plan.mirrors")
    for mirror in plan.mirrors:
        page.write(page.catalogue.say("plan.where", why=page.catalogue.text(mirror.why), url=mirror.url), indent="    ", first="  - ")
    for recipe in plan.install:
        page.heading(f"check.install-{recipe.tool}")
        page.steps(recipe.steps, with_reasons=True)


def _write_serving(page: Page, plan: Plan) -> None:
    write_serve(page, plan)
    if not unfit(plan):
        write_reasons(page, plan)
    if plan.size:
        write_account(page, plan.size)
