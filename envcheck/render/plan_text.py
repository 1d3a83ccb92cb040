"""The text of `envcheck plan`: the stack, how to install it, how to serve, and what else would do."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.model.plan import Plan
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.findings_text import write_findings
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain
from envcheck.render.serve_text import write_reasons, write_serve
from envcheck.render.size_text import write_size
from envcheck.render.stack_text import clash_sentence, stack_line, stack_name, write_not_possible, write_stacks


def plan_text(plan: Plan, catalogue: Catalogue, *, verbose: bool = False, paint: Paint = plain) -> str:
    """A plan for people; the commands are the same as in its files."""
    page = Page(catalogue, paint)
    if plan.stack:
        page.say("plan.stack", role="good", vllm=stack_name(plan.stack))
        page.write(stack_line(plan.stack, catalogue), indent="  ")
        for warning in plan.stack.warnings:
            page.write(clash_sentence(warning, catalogue), indent="  ", role="caution")
    else:
        page.say("plan.no-stack", role="bad")
    for note in plan.notes:
        page.write(catalogue.text(note), indent="  ")
    _write_install(page, plan)
    write_serve(page, plan)
    write_reasons(page, plan)
    if plan.size:
        page.heading(f"plan.size-{plan.size.verdict}")
        write_size(page, plan.size)
    limit = 99 if verbose else 5
    write_stacks(page, "check.alternatives", plan.alternatives, limit)
    write_stacks(page, "check.ways-out", plan.ways_out, limit)
    write_not_possible(page, plan)
    write_findings(page, plan.findings, limit, verbose)
    return page.finish()


def written_text(plan: Plan, paths: Sequence[str], catalogue: Catalogue, paint: Paint = plain) -> str:
    """What was written, and what to type next."""
    page = Page(catalogue, paint)
    for path in paths:
        page.say("plan.wrote", path=path)
    scripts = [path for path in paths if path.endswith(".sh")]
    if scripts:
        page.heading("plan.next")
    for path in scripts:
        page.command(["bash", path])
    if plan.stack is None:
        page.say("plan.no-stack", role="bad")
    return page.finish()


def _write_install(page: Page, plan: Plan) -> None:
    for mirror in plan.mirrors:
        page.write(f"{clean(mirror.url)}: {page.catalogue.text(mirror.why)}", indent="    ", first="  - ")
    for recipe in plan.install:
        page.heading(f"check.install-{recipe.tool}")
        page.steps(recipe.steps, with_reasons=True)
