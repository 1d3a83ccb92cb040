"""Records of what a release decides by itself: settings whose default is not in the argument parser."""

from __future__ import annotations

from typing import Literal

from envcheck.matrix.records import Record


class EffectiveDefault(Record, frozen=True, kw_only=True):
    """The value of a setting in a range of releases, on one engine (None = any); the first record that holds counts.

    `value` as `vllm serve` logs it; `why` names a text that says who decides it, `facts` = the releases and figures that the text names.
    """

    setting: str
    releases: str
    engine: Literal["v0", "v1"] | None = None
    value: str | int | float | bool | None
    why: str
    facts: dict[str, str | int | float] = {}
