"""What every record of the memory model has, and what records are told apart by."""

from typing import Literal

import msgspec

Engine = Literal["v0", "v1"]
Runner = Literal["v1", "v2"]
Interconnect = Literal["nvlink", "pcie"]
ModelKind = Literal["dense", "experts", "recurrent", "multimodal"]


class MemoryRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What every record has: where it holds and how it is known."""

    sources: list[str]
    note: str | None = None
    releases: str = ""
    engine: Engine | None = None
