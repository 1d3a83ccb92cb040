"""JSON Schemas of the matrix files, made from the records: the Structs are the one statement of what a file may hold."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.matrix.files import FILES, RELEASES


def schemas() -> dict[str, dict[str, Any]]:
    """File name → JSON Schema (2020-12); `vllm/` stands for every file of releases."""
    return {kind.name: msgspec.json.schema(kind.type) for kind in (*FILES, RELEASES)}
