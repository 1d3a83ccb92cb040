"""What a rule found, with the evidence typed so that planning never derives it again."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import msgspec

from envcheck.model.text import Text


class Severity(str, Enum):
    """`error` = it will not start or will compute wrongly; `warning` = it may, or costs a lot; `info` = worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Verdict(str, Enum):
    """The answer to what was asked."""

    READY = "ready"
    READY_WITH_WARNINGS = "ready-with-warnings"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


RemedyKind = Literal["setting", "service", "fresh-environment", "other-wheel", "container", "reboot", "driver", "hardware"]


class Remedy(msgspec.Struct, frozen=True):
    """One way out; `commands` are printed, never run by us. Kinds are ordered from the least to the most intrusive."""

    kind: RemedyKind
    note: Text
    commands: tuple[str, ...] = ()
    needs_root: bool = False


class FactSeen(msgspec.Struct, frozen=True):
    """A fact that a finding rests on: its path in the host document, its value, where it was read (None = stated without a source)."""

    path: str
    value: str | int | float | bool
    source: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """One finding. `code` is of the published vocabulary; `detail` a catalogue text that names the two values that clash.

    `consequences` = findings that only follow from this one, and go away with it; `facts` = what it rests on, where asked for.
    """

    code: str
    severity: Severity
    detail: Text
    evidence: dict[str, Any] = {}
    remedies: tuple[Remedy, ...] = ()
    sources: tuple[str, ...] = ()
    origin: Literal["rule", "log"] = "rule"
    consequences: tuple[Finding, ...] = ()
    facts: tuple[FactSeen, ...] = ()
