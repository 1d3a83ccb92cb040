"""Shorthand for building findings, so that a rule reads as its condition and its evidence."""

from __future__ import annotations

from typing import Any

from envcheck.model.finding import Finding, Remedy, RemedyKind, Severity
from envcheck.model.stack import Clash
from envcheck.model.text import Param, Text


def finding(code: str, severity: Severity, variant: str = "detail", *, remedies: tuple[Remedy, ...] = (), **params: Param) -> Finding:
    """A finding whose detail is the catalogue text `finding.<code>.<variant>` and whose evidence is the text's parameters."""
    evidence: dict[str, Any] = dict(params)
    return Finding(code, severity, Text(f"finding.{code}.{variant}", params), evidence, remedies)


def error(code: str, variant: str = "detail", *, remedies: tuple[Remedy, ...] = (), **params: Param) -> Finding:
    """A finding that keeps vLLM from starting or from computing rightly."""
    return finding(code, Severity.ERROR, variant, remedies=remedies, **params)


def warning(code: str, variant: str = "detail", *, remedies: tuple[Remedy, ...] = (), **params: Param) -> Finding:
    """A finding that may keep it from starting, or costs a lot."""
    return finding(code, Severity.WARNING, variant, remedies=remedies, **params)


def info(code: str, variant: str = "detail", **params: Param) -> Finding:
    """A finding worth knowing."""
    return finding(code, Severity.INFO, variant, remedies=(), **params)


def remedy(kind: RemedyKind, key: str, *commands: str, root: bool = False, **params: Param) -> Remedy:
    """A way out; `key` is completed to the catalogue text `remedy.<key>`."""
    return Remedy(kind, Text(f"remedy.{key}", params), commands, root)


def from_clash(clash: Clash, severity: Severity, remedies: tuple[Remedy, ...] = (), **more: Param) -> Finding:
    """The finding of a wheel's clash; the two values that clash stand in the evidence as `needed` and `present`."""
    evidence = {**clash.detail.params, "needed": clash.needed, "present": clash.present, **more}
    return Finding(clash.code, severity, clash.detail, evidence, remedies)
