"""Serve arguments as they are typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.render.commands import quote


def serve_flag(name: str, value: object) -> str:
    """A serve argument as typed: `--max-model-len 8192`, a true switch without its value."""
    flag = "--" + name.replace("_", "-")
    return quote(flag) if value is True else f"{quote(flag)} {quote(str(value))}"


def serve_line(arguments: Mapping[str, Any]) -> str:
    """Serve arguments in one line."""
    return " ".join(serve_flag(name, value) for name, value in arguments.items())
