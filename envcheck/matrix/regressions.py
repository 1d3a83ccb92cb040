"""Regressions: what a range of vLLM releases breaks that releases before or after it do not, and for whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Arch, Record
from envcheck.model.version_range import version_range

Bound = Literal["first", "last"]


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """Whom a regression concerns: all that is stated must hold; nothing stated = everyone.

    `capability_from` to `capability_to` = compute capabilities, both included, of any GPU in use; `gpus` = parts of a GPU's name, lower
    case. `models` = fragments of a model type or architecture, lower case letters and digits only; `quantization` = methods of number
    formats as vLLM names them. `planned` = what the conditions of advisories are called (`multimodal`, `spec_decode:eagle`);
    `arguments` = serve arguments in snake case with the value they have: "" = given or switched on, `>=2` a number, `x*` a text that
    begins so, anything else the text.
    """

    arch: Arch | None = None
    capability_from: str | None = None
    capability_to: str | None = None
    gpus: list[str] = []
    models: list[str] = []
    quantization: list[str] = []
    planned: list[str] = []
    arguments: dict[str, str] = {}


class Regression(Record, frozen=True, kw_only=True):
    """One regression. Its sentence is the catalogue's `regression.<id>`.

    `releases` = those that show it; `good_before` = the last release known without it, `fixed` = the first release after it, null = none
    known. `unknown` = bounds that nobody has stated: then `releases` ends where it was seen. `severity`: `avoid` = where the condition
    is met another release is planned, `note` = it is only said.
    """

    id: str
    releases: str
    good_before: str | None = None
    fixed: str | None = None
    unknown: list[Bound] = []
    condition: Condition = Condition()
    severity: Literal["avoid", "note"]


class Regressions:
    """Regressions by release."""

    def __init__(self, records: list[Regression]) -> None:
        self.records = tuple(records)
        self._of: dict[Version, tuple[Regression, ...]] = {}

    @staticmethod
    def span(record: Regression, releases: Iterable[Version]) -> str:
        """The releases that show it, as people write them: `0.25.0`, or the first and the last of several."""
        shown = [version for version in releases if version_range(record.releases).contains(version)]
        names = [str(version) for version in (min(shown, default=None), max(shown, default=None)) if version is not None]
        return " – ".join(dict.fromkeys(names))

    def of(self, version: Version) -> tuple[Regression, ...]:
        """Those that a release shows, in the order of the file."""
        if version not in self._of:
            self._of[version] = tuple(one for one in self.records if version_range(one.releases).contains(version))
        return self._of[version]
