"""How much of a report to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from envcheck.cli.asked import Common
from envcheck.model.host import HostReport, known
from envcheck.render.check_text import View

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix


def cloud_name(host: HostReport, matrix: Matrix, lang: str) -> str | None:
    """The cloud's name in the language asked for; None where there is no cloud or it is not known to the matrix."""
    cloud = known(host.cloud)
    provider = (known(cloud.provider) or known(cloud.platform)) if cloud else None
    record = matrix.cloud(provider) if provider else None
    if record is None:
        return None
    return (record.name_zh if lang == "zh" else None) or record.name


def view_of(host: HostReport, matrix: Matrix, asked: Common) -> View:
    """The view that the options ask for."""
    detail: Literal["brief", "normal", "full"] = "full" if asked.verbose else "brief" if asked.quiet else "normal"
    return View(detail, matrix.policy.max_findings_shown, cloud_name(host, matrix, asked.lang), matrix.info.date)
