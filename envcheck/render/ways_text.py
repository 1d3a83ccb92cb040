"""The ways in words: what each does, what kind of change it is, what it costs and leads to, what to type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.plan import Plan
from envcheck.model.ways import Way
from envcheck.render.catalogue import Catalogue
from envcheck.render.container import image_lines, run_words
from envcheck.render.findings_text import as_said, write_remedy
from envcheck.render.host_line import SEPARATOR
from envcheck.render.layout import WIDTH, wrap, wrap_parts
from envcheck.render.page import Page
from envcheck.render.serve_text import unfit
from envcheck.render.stack_text import stack_line

FIRST_SCREEN = 3  # ways that stand there; more are for those who ask
# Ways whose commands install the stack that they lead to, by their title.
_INSTALLING = frozenset(f"way.{name}" for name in ("environment", "interpreter", "wheel", "release", "gpus"))

# What to know before typing, besides why a way stands where it stands.
_TO_MIND = frozenset(
    f"way.why.{name}"
    for name in (
        "image-basis",
        "image-mirror",
        "image-inside",
        "image-platform",
        "shared-driver",
        "kernel-too-old",
        "secure-boot",
        "unverified",
        "no-commands",
        "no-system",
    )
)


def lead(plan: Plan) -> Way | None:
    """The way that is planned."""
    return plan.ways[0] if plan.ways else None


def installs(way: Way) -> bool:
    """Whether its commands install the stack that it leads to."""
    return way.title.key in _INSTALLING


def is_setting(line: str) -> bool:
    """Whether a shell line only sets or removes variables of the shell it is typed into."""
    return line.startswith(("export ", "unset "))


def by_hand(way: Way) -> tuple[Remedy, ...]:
    """What has to be done on the host before anything is installed or started, in order; the way's own part carries its title.

    Lines that only set variables are none of it: they belong to the shell that starts the server.
    """
    steps = tuple(_without_settings(step) for step in way.first if step not in beside(way) and not _only_settings(step.commands))
    left = tuple(line for line in way.commands if line not in image_lines(way) and not is_setting(line))
    if installs(way) or way.kind == "hardware" or way.title.key == "way.installed":
        return steps
    if not left and way.commands:
        return steps
    return (*steps, Remedy("service", way.title, left, way.cost.root))


def _without_settings(step: Remedy) -> Remedy:
    return Remedy(step.kind, step.note, tuple(line for line in step.commands if not is_setting(line)), step.needs_root)


def beside(way: Way) -> tuple[Remedy, ...]:
    """What goes along with a way and is no command: an argument of the server, say."""
    return tuple(step for step in way.first if step.kind == "setting" and not step.commands)


def variables(way: Way) -> tuple[str, ...]:
    """The shell lines that set or remove variables for the server."""
    lines = [line for step in way.first for line in step.commands if is_setting(line)]
    return (*lines, *(line for line in way.commands if is_setting(line)))


def _only_settings(lines: Sequence[str]) -> bool:
    return bool(lines) and all(map(is_setting, lines))


def cured(findings: Sequence[Finding], ways: Sequence[Way], catalogue: Catalogue) -> set[str]:
    """The ways out of findings (`as_said`) that the ways hold: those among their steps, and those of a clash, round which ways lead."""
    from envcheck.planning.ways.prove import CLASHES  # noqa: PLC0415  # loaded where there are ways

    said = {as_said(step, catalogue) for way in ways for step in way.first}
    said |= {"\n".join((catalogue.text(way.title), *way.commands)) for way in ways}
    clashes = [finding for finding in findings if finding.severity is Severity.ERROR and finding.code in CLASHES]
    return said | {as_said(remedy, catalogue) for finding in clashes for remedy in finding.remedies}


def choice_text(plan: Plan, catalogue: Catalogue) -> str:
    """Why this release and not the next, in one paragraph."""
    gap = "" if catalogue.lang == "zh" else " "
    return catalogue.say("plan.why") + gap.join(catalogue.text(reason) for reason in plan.choice)


def cost_parts(way: Way, catalogue: Catalogue) -> list[str]:
    """The kind of a way, what it costs, and whether its result has been judged, each in a word or two."""
    say, cost = catalogue.say, way.cost
    parts = [say(f"way.kind.{way.kind}")]
    if way.kind != "hardware":
        parts += [say("way.cost.root")] if cost.root else [say("way.cost.no-root")] if way.kind != "driver" else []
        parts += [say("way.cost.reboot")] if cost.reboot and way.kind != "reboot" else []
        parts += [say("way.cost.shared")] if cost.shared else []
        parts += list(_download(way, catalogue))
    return [*parts, say(f"way.proof.{way.proof.value}" if way.proof else "way.proof.none")]


def _download(way: Way, catalogue: Catalogue) -> Iterator[str]:
    known_mib, more = way.cost.download_mib, way.cost.download_more
    if known_mib is not None:
        if known_mib:
            yield catalogue.say(f"way.cost.download{'-more' if more else ''}", gib=known_mib / 1024)
    elif more and (installs(way) or way.image):
        yield catalogue.say("way.cost.download-unknown")


def cost_line(way: Way, catalogue: Catalogue) -> str:
    """The same on one line."""
    return SEPARATOR.join(cost_parts(way, catalogue))


def write_costs(page: Page, way: Way, indent: str) -> None:
    """The line of costs, then the wishes given up and what is missing afterwards, a line each."""
    for line in wrap_parts(cost_line(way, page.catalogue), SEPARATOR, WIDTH - len(indent)):
        page.raw(page.paint(indent + line, "caution" if way.cost.root else "faint"))
    for pin in way.breaks:
        page.say("way.gives-up", indent, role="caution", what=page.catalogue.say(f"way.breaks.{pin}"))
    for lost in way.cost.lost:
        page.say("way.loses", indent, role="caution", what=page.catalogue.text(lost))


def write_why(page: Page, way: Way, indent: str, *, full: bool = True) -> None:
    """Why it stands where it stands, unless `full` only what to mind before typing."""
    for why in way.why:
        minded = why.key in _TO_MIND
        if full or minded:
            page.write(page.catalogue.text(why), indent + "  ", first=indent + "- ", role="caution" if minded else "faint")


def write_commands(page: Page, way: Way, indent: str, plan: Plan | None = None) -> None:
    """What to mend first, then the way's own commands; `plan` = the one whose server the container of this way starts."""
    for step in way.first:
        if step not in beside(way):
            write_remedy(page, step, indent)
    own = image_lines(way) if plan else ()
    for line in way.commands:
        if line not in own:
            page.shell(line, indent)
    if plan and own:
        write_image(page, plan, way, indent)
    write_beside(page, way, indent)


def write_image(page: Page, plan: Plan, way: Way, indent: str = "    ") -> None:
    """The lines that pull the image and start the server in it with the settings that are planned."""
    run = run_words(way, None if unfit(plan) else plan.serve)
    for line in image_lines(way)[:-1] if run else image_lines(way):
        page.shell(line, indent)
    if run:
        page.shell(" ".join((*run[0], *run[1])), indent)
    if plan.serve is None:
        page.say("plan.container-model", indent, role="faint")


def write_beside(page: Page, way: Way, indent: str) -> None:
    """What goes along with the commands."""
    for step in beside(way):
        page.say("ways.first-note", indent, note=page.catalogue.text(step.note))


def write_way(page: Page, way: Way, number: int, *, commands: bool, full: bool = False) -> None:
    """One way of a list: title, costs, with `full` what it leads to and why, with `commands` what to type."""
    head = page.catalogue.say("way.numbered", number=number, title=page.catalogue.text(way.title))
    for line in wrap(head, indent="     ", first="  "):
        page.raw(line)
    write_costs(page, way, "     ")
    if full and way.stack:
        page.say("way.leads-to", "     ", role="faint", stack=stack_line(way.stack, page.catalogue))
    if full:
        write_why(page, way, "     ")
    if commands:
        write_commands(page, way, "       ")


def write_ways(page: Page, ways: Sequence[Way], *, full: bool) -> None:
    """The ways behind the first, as many as stand on the first screen; with `full` all, what to type, and why they stand so."""
    for number, way in enumerate(ways[1:] if full else ways[1:FIRST_SCREEN], 2):
        write_way(page, way, number, commands=full, full=full)


def write_model_ways(page: Page, ways: Sequence[Way], *, full: bool) -> None:
    """The ways to serve a model that is not served as asked for: each proved, with the command that plans it."""
    if not ways:
        return
    page.heading("ways.model")
    for number, way in enumerate(ways if full else ways[:FIRST_SCREEN], 1):
        write_way(page, way, number, commands=True)
        write_why(page, way, "     ")
