"""Switches of the environment, as the hub's own libraries read them."""

from __future__ import annotations

from collections.abc import Mapping

_TRUE = ("1", "true", "yes", "on")


def is_on(environment: Mapping[str, str], name: str) -> bool:
    """Whether a switch of the environment is on."""
    return (environment.get(name) or "").strip().lower() in _TRUE
