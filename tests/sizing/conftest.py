"""The memory model with the shipped records, and configurations as their publishers wrote them, cut to what sizing reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.memoryfacts import MemoryFacts
from envcheck.model.units import GIB
from envcheck.model.versions import ComputeCapability
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.release import MemoryTable

HERE = Path(__file__).parent
HOPPER = Card(name="NVIDIA H100 80GB HBM3", count=8, total_bytes=79.19 * GIB, capability=ComputeCapability(9, 0), nvlink=True)


@pytest.fixture(scope="session")
def facts() -> MemoryFacts:
    return msgspec.json.decode((HERE.parents[1] / "matrices" / "memory.json").read_bytes(), type=MemoryFacts)


@pytest.fixture(scope="session")
def table(facts: MemoryFacts) -> MemoryTable:
    return MemoryTable(facts, ComputeCapability(8, 0))


@pytest.fixture(scope="session")
def config() -> Callable[[str], dict[str, Any]]:
    return lambda name: json.loads((HERE / "configs" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def inputs(config: Callable[[str], dict[str, Any]]) -> Callable[..., SizingInputs]:
    """A question about a published model on an H100 unless a card is given; keywords are serve arguments."""

    def make(model: str, vllm: str | None = "0.19.0", card: Card = HOPPER, /, **serve: Any) -> SizingInputs:
        return SizingInputs(config=config(model), card=card, release=Version(vllm) if vllm else None, serve_args=serve)

    return make
