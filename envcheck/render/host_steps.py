"""What a plan leaves to be done by hand on the host, as a text to read: nothing executes it."""

from __future__ import annotations

from envcheck.model.plan import Plan
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.commands import laid, words
from envcheck.render.layout import wrap
from envcheck.render.shell import MARKER
from envcheck.render.ways_text import by_hand, cost_line, lead


def host_steps(plan: Plan, catalogue: Catalogue, version: str, then: tuple[str, ...]) -> str | None:
    """The steps with their reasons; `then` = the plan's scripts in their order. None where there is nothing to do by hand."""
    way = lead(plan)
    steps = by_hand(way) if way else ()
    if way is None or not steps:
        return None
    lines = [*wrap(f"{MARKER} {version}. {catalogue.say('steps.head')}"), ""]
    for number, step in enumerate(steps, 1):
        key = "findings.fix-root" if step.needs_root else "findings.fix"
        note = catalogue.say(key, note=catalogue.text(step.note)).removeprefix("-> ")
        lines += wrap(catalogue.say("way.numbered", number=number, title=note), indent="   ", first="")
        for command in step.commands:
            lines += laid(words(clean(command)), indent="       ")
        lines.append("")
    lines += wrap(cost_line(way, catalogue))
    for why in way.why:
        lines += wrap(catalogue.text(why), indent="  ", first="- ")
    if way.cost.reboot:
        lines += ["", *wrap(catalogue.say("steps.again"))]
    if then:
        lines += ["", *wrap(catalogue.say("steps.then")), *(f"    bash {name}" for name in then)]
    return "\n".join(lines) + "\n"
