"""The ways of a blocked host on the page of `check`: the first in full, two more in short."""

from __future__ import annotations

from envcheck.model.plan import Plan
from envcheck.model.ways import Way
from envcheck.render.commands import quote
from envcheck.render.page import Page
from envcheck.render.serve_text import unfit, write_serve
from envcheck.render.ways_text import (
    installs,
    lead,
    write_commands,
    write_costs,
    write_ways,
    write_why,
)

_SAID = ("plan.note.way-out", "plan.note.advisories", "plan.note.v0")  # by the way's title, its costs, the findings
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
    if full:
        write_why(page, first, "  ")
    write_commands(page, first, "    ", plan)
    write_notes(page, plan)
    _write_next(page, plan, first, f" check{asked}" if asked else "")
    if plan.ways[1:]:
        page.heading("ways.others")
        write_ways(page, plan.ways, full=full)
    if plan.ways[1:] and not full:
        page.say("ways.more", "  ", role="faint", count=len(plan.ways), command=f"envcheck plan{asked} -v")


def write_notes(page: Page, plan: Plan) -> None:
    """What the plan notes about its wheel, but for what stands here already."""
    for note in plan.notes:
        if note.key not in _SAID:
            page.write(page.catalogue.text(note), indent="  ")


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
