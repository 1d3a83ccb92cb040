"""Records of arguments for which a release with both engines takes V0 by itself, and mostly refuses to start where V1 is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability

_LONGEST = 4096  # characters of a value


class V0Argument(Record, frozen=True, kw_only=True):
    """One argument in snake case. `values` = only these lead to V0, `spared` = these do not; without both, any value but off does.

    Of JSON that says how to speculate, the method is the value, else the model. `spared_majors` = GPUs of these major compute
    capabilities serve it on V1; `beside` = values of other arguments with which V1 serves it. `experimental` = values (true = all) that
    V1 serves where it is asked for; it refuses the others then.
    """

    argument: str
    releases: str
    values: list[str] = []
    spared: list[str] = []
    spared_majors: list[int] = []
    beside: dict[str, list[str]] = {}
    experimental: bool | list[str] = False

    def holds(self, version: Version, capability: ComputeCapability | None, arguments: Mapping[str, Any]) -> bool:
        """Whether one of the arguments leads a release to V0 on a GPU; an unknown GPU is not one that is spared."""
        value = arguments.get(self.argument)
        if value in (None, False) or not version_range(self.releases).contains(version):
            return False
        if capability is not None and capability.major in self.spared_majors:
            return False
        if any(str(arguments.get(name)).lower() in served for name, served in self.beside.items()):
            return False
        word = word_of(value)
        return word in self.values if self.values else word not in self.spared

    def opted(self, value: object) -> bool:
        """Whether V1 serves a value where it is asked for."""
        return word_of(value) in self.experimental if isinstance(self.experimental, list) else self.experimental


def word_of(value: object) -> str:
    """A value as the records have it, in lower case."""
    told: object = value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            told = json.loads(value[:_LONGEST])
        except (ValueError, RecursionError):
            told = value
    if isinstance(told, dict):
        told = told.get("method") or told.get("model")
    return str(told)[:_LONGEST].lower()
