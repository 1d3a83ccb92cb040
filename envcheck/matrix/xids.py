"""Records of the driver's Xid errors: what an Xid in the kernel's log says of a GPU."""

from __future__ import annotations

from typing import Literal

from envcheck.matrix.records import Record

XidKind = Literal["lost", "memory", "link", "firmware", "application"]


class XidRecord(Record, frozen=True, kw_only=True):
    """One Xid. `lost` = off the bus; `memory` = an uncorrected error or a row to remap; `link` = NVLink; `application` = a program's."""

    number: int
    kind: XidKind
