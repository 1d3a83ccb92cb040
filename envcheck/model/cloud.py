"""How a cloud provider is told from files and environment: the matrix holds the signs, the probe applies them."""

from __future__ import annotations

from typing import Literal

import msgspec


class CloudSign(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One sign of a provider.

    `kind` file: `path` exists and, with `pattern`, its first 64 KiB match the regular expression
    (`re.search`, case ignored); kind env: the variable `name` is set and, with `pattern`, its value matches.
    """

    kind: Literal["file", "env"]
    path: str | None = None
    name: str | None = None
    pattern: str | None = None
    confidence: str


class CloudMatcher(msgspec.Struct, frozen=True):
    """A provider's id, its level (host = the machine's maker; platform = a service on top of a host), and its signs."""

    id: str
    level: Literal["host", "platform"]
    signs: tuple[CloudSign, ...]
