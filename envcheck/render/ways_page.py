"""The ways on a page: of a blocked host on that of `check`, and what a plan does by hand first and could do instead."""

from __future__ import annotations

from envcheck.model.plan import Plan
from envcheck.model.ways import Way
from envcheck.render.commands import quote
from envcheck.render.findings_text import write_remedy
from envcheck.render.page import Page
from envcheck.render.serve_text import unfit, write_serve
from envcheck.render.stack_text import stack_name
from envcheck.render.ways_text import (
    FIRST_SCREEN,
    by_hand,
    installs,
    lead,
    variables,
    write_beside,
    write_commands,
    write_costs,
    write_ways,
    write_why,
)

_SAID = ("plan.note.way-out", "plan.note.advisories", "plan.engine.gpu")  # by the way's title, its costs, the findings
_ASK_AGAIN = ("setting", "mend", "service", "reboot", "driver")  # kinds after which the host is another


def write_blocked(page: Page, plan: Plan, release: str | None, *, full: bool) -> None:
    """What to do: the first way with its commands, then the others, a title and its costs each; with `full` all of all.

    `release` = the one asked for.
    """
    asked = f" --vllm {quote(release)}" if release else ""
    first = lead(plan)
    if first is None:
        return
    page.heading("ways.help" if first.kind == "hardware" else "ways.first")
    page.write(page.catalogue.text(first.title), indent="  ")
    write_costs(page, first, "  ")
    write_why(page, first, "  ", full=full)
    write_commands(page, first, "    ", plan)
    write_notes(page, plan)
    _write_next(page, plan, first, f" check{asked}" if asked else "")
    if plan.ways[1:]:
        page.heading("ways.others")
        write_ways(page, plan.ways, full=full)
    if full:
        page.say("ways.proof-note", "  ", role="faint")
    elif plan.ways[1:]:
        page.say("ways.more", "  ", role="faint", count=len(plan.ways), command=f"envcheck plan{asked} -v")


def write_notes(page: Page, plan: Plan) -> None:
    """What the plan notes about its wheel, but for what stands here already."""
    for note in plan.notes:
        if note.key not in _SAID:
            page.write(page.catalogue.text(note), indent="  ")


def write_instead(page: Page, first: Way, *, full: bool) -> None:
    """The first way, where nothing runs as it is: what is planned, at what price."""
    if first.image:
        page.say("plan.image", role="caution", vllm=first.image.release, image=first.image.reference)
    elif first.kind == "hardware":
        page.say("plan.no-stack", role="bad")
    elif first.stack:
        page.say("plan.host-first" if by_hand(first) else "plan.way-out", role="caution", vllm=stack_name(first.stack))
    else:
        page.say("plan.mend-first", role="caution")
    if not by_hand(first):
        page.write(page.catalogue.text(first.title), indent="  ")
    if first.kind != "hardware":
        write_costs(page, first, "  ")
    write_why(page, first, "  ", full=full)
    write_beside(page, first, "  ")


def _write_next(page: Page, plan: Plan, first: Way, again: str) -> None:
    """What follows the first way: the install that it opens, the server, or the question again where the host has changed."""
    if first.image or first.kind == "hardware":
        return
    if first.cost.reboot or (first.kind in _ASK_AGAIN and not (plan.install and plan.stack)):
        page.say("ways.again", "  ", command=f"envcheck{again}")
    elif not installs(first) and plan.install and first.kind != "mend":
        page.heading("check.install-after")
        page.steps(plan.install[0].steps)
    if not unfit(plan):
        write_serve(page, plan)


def write_host_first(page: Page, plan: Plan, first: Way) -> None:
    """What has to be done on the host before anything else, and the variables that its server needs."""
    steps, lines = by_hand(first), variables(first)
    if steps:
        page.heading("plan.first")
    for step in steps:
        write_remedy(page, step, "  ")
    if lines:
        page.heading("plan.variables")
    for line in lines:
        page.shell(line)
    if first.cost.reboot or not (first.image or plan.install or first.kind == "hardware"):
        page.say("ways.again", "  ", command="envcheck plan")


def write_other_ways(page: Page, plan: Plan, *, full: bool) -> None:
    """The ways behind the one that is planned; where that runs as it is, they are for those who ask."""
    others = plan.ways[1:]
    if not others:
        return
    as_is = plan.stack is not None and not by_hand(plan.ways[0])
    if as_is and not full:
        page.blank()
        page.say("ways.hint", role="faint", count=len(others))
        return
    page.heading("ways.further" if as_is else "ways.others")
    write_ways(page, plan.ways, full=full)
    if full:
        page.say("ways.proof-note", "  ", role="faint")
    elif len(plan.ways) > FIRST_SCREEN:
        page.say("way.more", "  ", role="faint", count=len(plan.ways) - FIRST_SCREEN)
    else:
        page.say("ways.commands-hint", "  ", role="faint")
