"""Secrets stay on the host: what a fact may show of a variable or an address, and a whole report as it may leave the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from envcheck.model.host import HostReport
from envcheck.system.secret_values import HIDDEN, is_secret, redacted, redacted_urls

if TYPE_CHECKING:
    from envcheck.system.redaction import Redactor

__all__ = ["HIDDEN", "is_secret", "redacted", "redacted_report", "redacted_urls"]


def redacted_report(report: HostReport, redactor: Redactor) -> HostReport:
    """The report with the stand-ins of a recording in place of people, machines, addresses, serial numbers and keys."""
    return msgspec.convert(redactor.value(msgspec.to_builtins(report)), HostReport)
