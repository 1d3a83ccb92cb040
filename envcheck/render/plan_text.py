"""The text of `envcheck plan`: the stack, what must be mended first, how to install and to serve, and what else would do."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from envcheck.model.finding import Finding, RemedyKind, Severity
from envcheck.model.host import HostReport
from envcheck.model.plan import Plan
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.container import image_lines
from envcheck.render.findings_text import as_said, write_findings, write_remedy
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain
from envcheck.render.serve_text import served_as_said, unfit, write_reasons, write_serve, write_tokens
from envcheck.render.size_text import write_account, write_shortage
from envcheck.render.stack_text import advisories_line, clash_sentence, stack_line, stack_name, write_not_possible, write_stacks
from envcheck.render.undecided_text import write_undecided
from envcheck.render.ways_page import write_host_first, write_instead, write_other_ways
from envcheck.render.ways_text import by_hand, choice_text, cured, lead, write_costs, write_image, write_model_ways, write_why

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
    said = _write_head(page, plan, doubt, verbose=verbose)
    if brief:
        return page.finish()
    _write_install(page, plan)
    if _leads(plan):
        _write_serving(page, plan)
    limit = 99 if verbose else 5
    write_stacks(page, "check.alternatives", plan.alternatives, limit, marked=True)
    if plan.ways:
        write_other_ways(page, plan, full=verbose)
    else:
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
    _write_head(page, plan, doubt, verbose=False)
    page.blank()
    for path in paths:
        page.say("plan.wrote", path=path)
    steps = [path for path in paths if path.endswith(".txt")]
    scripts = [path for path in paths if path.endswith(".sh") and not (unfit(plan) and path.endswith(("serve.sh", "run.sh")))]
    if steps or scripts:
        page.heading("plan.next")
    for path in steps:
        page.command(["cat", path])
    for path in scripts:
        page.command([*(["MODEL=NAME"] if path.endswith("run.sh") and plan.serve is None else []), "bash", path])
    return page.finish()


def _write_head(page: Page, plan: Plan, doubt: Doubt, *, verbose: bool) -> set[str]:
    """What is planned, whether the model fits, what is not known or must be mended on the host first. The sentences said."""
    first = lead(plan)
    if plan.stack:
        _write_stack(page, plan, plan.stack, sure=not doubt.undecided)
    elif first:
        write_instead(page, first, full=verbose)
    elif plan.install and plan.ways_out:
        page.say("plan.way-out", role="caution", vllm=stack_name(plan.ways_out[0]))
    else:
        page.say("plan.no-stack", role="bad")
    for note in plan.notes:
        if not (first and note.key == "plan.note.way-out"):
            page.write(page.catalogue.text(note), indent="  ")
    if plan.choice:
        page.write(choice_text(plan, page.catalogue), indent="  ", role="faint")
    if _leads(plan):
        _write_fit(page, plan)
        write_model_ways(page, plan.model_ways, full=verbose)
        write_undecided(page, doubt.undecided, doubt.host)
    if first is None:
        return _write_obstacles(page, plan)
    write_host_first(page, plan, first)
    return cured(plan.findings, plan.ways, page.catalogue)


def _leads(plan: Plan) -> bool:
    """Whether the plan leads to a vLLM that serves."""
    return bool(plan.install or plan.stack or _in_image(plan))


def _in_image(plan: Plan) -> bool:
    first = lead(plan)
    return first is not None and first.image is not None


def _write_stack(page: Page, plan: Plan, stack: Stack, *, sure: bool) -> None:
    """The stack that runs here, or will once the host is mended."""
    first = lead(plan)
    mended = first is not None and bool(by_hand(first))
    key = f"plan.host-first{'' if plan.install else '-installed'}" if mended else "plan.stack"
    page.say(key, role="good" if sure and not mended else "caution", vllm=stack_name(stack))
    page.write(stack_line(stack, page.catalogue), indent="  ")
    mark = advisories_line(stack, page.catalogue)
    if mark:
        page.write(mark, indent="  ", role="faint")
    for warning in stack.warnings:
        page.write(clash_sentence(warning, page.catalogue), indent="  ", role="caution")
    if mended and first:
        write_costs(page, first, "  ")
        write_why(page, first, "  ", full=False)


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
        said |= {detail, as_said(finding.remedies[0], page.catalogue)}
    return said


def _obstacle(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR and bool(finding.remedies) and finding.remedies[0].kind in _ON_THE_HOST


def _write_install(page: Page, plan: Plan) -> None:
    first = lead(plan)
    if first and first.image:
        if image_lines(first):
            page.heading("plan.container")
            write_image(page, plan, first)
        return
    if plan.mirrors and plan.install:
        page.heading("plan.mirrors")
    for mirror in plan.mirrors:
        page.write(page.catalogue.say("plan.where", why=page.catalogue.text(mirror.why), url=mirror.url), indent="    ", first="  - ")
    for recipe in plan.install:
        page.heading(f"check.install-{recipe.tool}")
        page.steps(recipe.steps, with_reasons=True)


def _write_serving(page: Page, plan: Plan) -> None:
    if unfit(plan) or not _in_image(plan):
        write_serve(page, plan)
    if not unfit(plan):
        write_reasons(page, plan)
    write_tokens(page, plan)
    if plan.size:
        write_account(page, plan.size)
