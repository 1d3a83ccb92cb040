"""Records of judgement: figures that rules compare with, and which finding explains which."""

import msgspec

from envcheck.matrix.records import Record


class Threshold(Record, frozen=True, kw_only=True):
    """A figure that a rule compares with; `unit` is written out (`MiB`, `GiB`, `ratio`, `count`, `s`, `days`)."""

    id: str
    value: float
    unit: str


class Cause(Record, frozen=True, kw_only=True):
    """A finding and those that only follow from it where both are found: they go away with it."""

    code: str
    explains: list[str]


class Observation(Record, frozen=True, kw_only=True):
    """What has been seen to work on a host (`observed.<id>` is true), and the findings that a table alone would still raise."""

    id: str
    settles: list[str]


class JudgementFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/judgement.json`."""

    thresholds: list[Threshold]
    causes: list[Cause]
    observations: list[Observation]
