"""Records of what engine V1 lacked in releases that still had V0: arguments for which they take V0 by themselves."""

from __future__ import annotations

from envcheck.matrix.records import Record


class V1Gap(Record, frozen=True, kw_only=True):
    """An argument in snake case that V1 lacks in `releases`, except with the values of `unless`.

    With VLLM_USE_V1=1 these releases refuse to start. `served_by` = major compute capability of GPUs on which V1 has it after all.
    """

    argument: str
    releases: str
    unless: list[str] = []
    served_by: str | None = None
