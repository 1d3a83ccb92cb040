"""The text of `check --why-not`: every wheel of the releases asked about, what clashes with which two values, and what else remains."""

from __future__ import annotations

from collections.abc import Iterable

from envcheck.model.finding import Severity, Verdict
from envcheck.model.stack import Clash
from envcheck.render.catalogue import Catalogue
from envcheck.render.findings_text import write_findings
from envcheck.render.host_line import SEPARATOR, host_line
from envcheck.render.layout import wrap_parts
from envcheck.render.page import Page
from envcheck.render.paint import OF_VERDICT, Paint, Role, plain
from envcheck.render.stack_text import clash_sentence
from envcheck.render.table import table
from envcheck.render.undecided_text import write_undecided
from envcheck.rules.regressions import Concern
from envcheck.rules.why_not import ReleaseReasons, WheelReasons, WhyNot

_FINDINGS = 5


def why_not_text(found: WhyNot, catalogue: Catalogue, paint: Paint = plain, *, verbose: bool = False, cloud: str | None = None) -> str:
    """The reasons for people, at most 80 columns."""
    page = Page(catalogue, paint)
    page.say(f"why-not.verdict.{_verdict(found)}", role=OF_VERDICT[found.verdict], asked=_name(found))
    for line in wrap_parts(host_line(found.host, catalogue, cloud), SEPARATOR, indent="  "):
        page.raw(line)
    write_undecided(page, found.undecided, found.host)
    for one in found.releases:
        _write_release(page, one, verbose)
    if found.more:
        page.blank()
        page.say("why-not.more", role="faint", count=found.more)
    remaining = [finding for finding in found.remaining if verbose or finding.severity is not Severity.INFO]
    if remaining:
        page.blank()
        page.say("why-not.remaining")
        write_findings(page, remaining, _FINDINGS, verbose)
    page.blank()
    page.say("why-not.hint", role="faint")
    return page.finish()


def _name(found: WhyNot) -> str:
    """What was asked about; one release by its own name, so that `latest` says which."""
    only = len(found.releases) == 1 and not found.more
    return found.releases[0].release.raw if only and "+" not in found.asked else found.asked


def _verdict(found: WhyNot) -> str:
    """What blocks, where the index's wheel of a release does not: the interpreter alone, or something else on the host."""
    if found.verdict is not Verdict.BLOCKED:
        return "ready" if found.verdict is Verdict.READY_WITH_WARNINGS else found.verdict.value
    first = {one.wheels[0].runs for one in found.releases}
    if "yes" in first:
        return "blocked-elsewhere"
    if "other-python" in first:
        beside = any(finding.severity is Severity.ERROR for finding in found.remaining)
        return "blocked-elsewhere" if beside else "blocked-python"
    return "blocked"


def _write_release(page: Page, one: ReleaseReasons, verbose: bool) -> None:
    page.blank()
    key, role = _state(one)
    running = next((wheel for wheel in one.wheels if wheel.runs in ("yes", "other-python")), one.wheels[0])
    params = {"vllm": one.release.raw, "wheel": running.name, "python": running.python, "date": one.release.record.released}
    page.say(f"why-not.release.{key}", role=role, **params)
    heads = [page.catalogue.say(f"why-not.column.{name}") for name in ("wheel", "cuda", "clash", "needed", "here")]
    for line in table(heads, [row for wheel in one.wheels for row in _rows(wheel, page.catalogue)], width=78).splitlines():
        page.raw(("  " + line).rstrip())
    _write_sentences(page, one.wheels)
    held = 0
    for concern in one.concerns:
        if concern.met or verbose:
            _write_regression(page, concern)
        else:
            held += 1
    if held:
        page.say("why-not.regression.held", indent="  ", role="faint", count=held)


def _state(one: ReleaseReasons) -> tuple[str, Role]:
    """How a release stands here, by its wheels: the index's, else any other."""
    first, *others = one.wheels
    if first.runs == "yes":
        return "yes", "good"
    if first.runs == "other-python":
        return "other-python", "caution"
    if first.runs == "unknown":
        return "unknown", "caution"
    return ("other-wheel", "caution") if any(wheel.runs in ("yes", "other-python") for wheel in others) else ("no", "bad")


def _rows(wheel: WheelReasons, catalogue: Catalogue) -> Iterable[list[str]]:
    cuda = (wheel.build.record.cuda or "?") if wheel.build else "–"
    if not wheel.clashes:
        yield [wheel.name, cuda, catalogue.say(f"why-not.none.{'unknown' if wheel.runs == 'unknown' else 'runs'}"), "", ""]
    for index, clash in enumerate(wheel.clashes):
        yield [wheel.name if index == 0 else "", cuda if index == 0 else "", _title(clash, catalogue), clash.needed, clash.present]


def _title(clash: Clash, catalogue: Catalogue) -> str:
    title = catalogue.title(clash.code)
    return title if clash.severity == "error" else catalogue.say("why-not.only-warning", title=title)


def _write_sentences(page: Page, wheels: Iterable[WheelReasons]) -> None:
    """What each clash means, each sentence once."""
    for sentence in dict.fromkeys(clash_sentence(clash, page.catalogue) for wheel in wheels for clash in wheel.clashes):
        page.write(sentence, indent="    ", first="  - ")


def _write_regression(page: Page, concern: Concern) -> None:
    sign = "met" if concern.met else "possible"
    page.say(f"why-not.regression.{sign}", indent="  ", role="caution" if concern.avoided else "faint")
    page.write(page.catalogue.text(concern.text), indent="    ")
    page.write(page.catalogue.text(concern.end), indent="    ", role="faint")
    page.write(concern.regression.sources[0], indent="    ", role="faint")
