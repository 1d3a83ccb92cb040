"""The text of `matrix show`: a line a release, in 80 columns, without a pager. Laid out by hand: a table of rich would take too long."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.model.host import HostReport
from envcheck.model.stack import Clash
from envcheck.planning.releases import ReleaseLine
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.host_line import SEPARATOR, host_line
from envcheck.render.layout import WIDTH, cells, pad, wrap_parts
from envcheck.render.page import Page
from envcheck.render.paint import Paint, Role, plain

_COLUMNS = ("release", "date", "torch", "cuda", "engine", "python", "advisories", "regressions")
_SHORT = {
    "driver-too-old-for-cuda": "driver",
    "driver-too-old-for-ptx": "ptx",
    "gpu-too-old": "gpu",
    "gpu-arch-not-in-vllm-build": "code",
    "gpu-arch-not-in-torch-build": "torch-code",
    "glibc-too-old": "glibc",
    "no-wheel-for-platform": "platform",
    "v1-unsupported-gpu": "engine",
}
_ROLES: dict[str, Role] = {"yes": "good", "other-python": "good", "unknown": "caution", "no": "bad"}


def releases_text(
    lines: Sequence[ReleaseLine], arch: str, catalogue: Catalogue, matrix_date: str, paint: Paint = plain, host: HostReport | None = None
) -> str:
    """All releases for people; with the host's verdicts where one is asked about, else with the other wheels that exist."""
    page = Page(catalogue, paint)
    page.say("releases.title", role="heading", count=len(lines), arch=arch, date=matrix_date)
    if host is not None:
        for line in wrap_parts(host_line(host, catalogue, None), SEPARATOR, indent="  "):
            page.raw(line)
    page.blank()
    last = "host" if host is not None else "others"
    rows = [[catalogue.say(f"releases.column.{name}") for name in (*_COLUMNS, last)], *(_row(line, catalogue) for line in lines)]
    widths = [max(cells(row[index]) for row in rows) for index in range(len(_COLUMNS))]
    left = WIDTH - sum(widths) - len(widths)
    for row, role in zip(rows, ["heading", *(_role(line) for line in lines)], strict=True):
        page.raw(_laid_out(row, widths, left, paint, role))
    page.blank()
    for name in ("legend", "legend-host" if host is not None else "legend-facts"):
        page.say(f"releases.{name}", role="faint")
    return page.finish()


def _laid_out(row: Sequence[str], widths: Sequence[int], left: int, paint: Paint, role: Role | None) -> str:
    """One line; what of the last cell does not fit is cut, since a line must stay one."""
    head = " ".join(pad(cell, width) for cell, width in zip(row, widths, strict=False))
    tail = clean(row[-1])
    while cells(tail) > left:
        tail = tail[:-2] + "…"
    return f"{paint(head, role) if role == 'heading' else head} {paint(tail, role) if role else tail}".rstrip()


def _role(line: ReleaseLine) -> Role | None:
    if line.wheel is None:
        return None
    return "caution" if line.other else _ROLES[line.wheel.runs]


def _row(line: ReleaseLine, catalogue: Catalogue) -> list[str]:
    release = line.release
    name = release.raw + ("*" if release.record.yanked else "")
    certain = sum(one.met is True for one in line.concerns)
    regressions = f"{certain}" if certain or not line.concerns else f"({len(line.concerns)})"
    return [
        name,
        release.record.released,
        line.torch or "–",
        line.cuda or "–",
        (line.engine or "?").upper(),
        _span(line.pythons),
        str(line.grave),
        regressions,
        _verdict(line, catalogue) if line.wheel else " ".join(line.others),
    ]


def _span(pythons: Sequence[str]) -> str:
    """`3.10–3.14`."""
    return "–".join(dict.fromkeys((pythons[0], pythons[-1]))) if pythons else "?"


def _verdict(line: ReleaseLine, catalogue: Catalogue) -> str:
    wheel = line.wheel
    if wheel is None:
        return ""
    if wheel.runs == "yes":
        return catalogue.say("releases.yes")
    if wheel.runs == "other-python":
        return catalogue.say("releases.other-python", python=wheel.python)
    if wheel.runs == "unknown":
        return catalogue.say("releases.unknown")
    text = f"✗ {_clash(next(clash for clash in wheel.clashes if clash.severity == 'error'), catalogue)}"
    return f"{text} +{line.other}" if line.other else text


def _clash(clash: Clash, catalogue: Catalogue) -> str:
    """The two values in a few cells, `driver 580>535`."""
    needed, present = clash.needed, clash.present
    if clash.code == "driver-too-old-for-cuda" and needed.split(".")[0] != present.split(".")[0]:
        needed, present = needed.split(".")[0], present.split(".")[0]
    return catalogue.say(f"releases.clash.{_SHORT.get(clash.code, 'other')}", needed=needed, present=present, code=clash.code)
