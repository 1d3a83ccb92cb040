"""The defaults agree with the configuration that releases chose on the CUDA platform for a plain Llama model of 2048 tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envcheck.cli.cards import host_of_cards
from envcheck.cli.memory import sizer_of
from envcheck.matrix.load import load
from envcheck.planning.effective import effective

REAL: dict[str, dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "real_defaults.json").read_text())
GPUS = {"h20x8": "NVIDIA H20", "rtx4090": "NVIDIA GeForce RTX 4090", "t4_470": "Tesla T4"}


def _values(gpu: str, vllm: str, context: Any = "api-server") -> dict[str, Any]:
    matrix = load()
    release = matrix.release(vllm)
    assert release is not None
    found = effective(matrix, release, sizer_of(matrix).card(host_of_cards(gpu, matrix)), context)
    return {default.setting: default.value for default in found.defaults}


@pytest.mark.parametrize("case", REAL)
def test_real_configuration(case: str) -> None:
    profile, vllm = case.split()
    ours, real = _values(GPUS[profile], vllm), REAL[case]
    # A field that the release had not yet, or left to the engine, is printed as None.
    told = {name: value for name, value in real.items() if value not in (None, "None") and name != "use_v1"}
    assert {name: ours.get(name) for name in told} == {**told, "dtype": told["dtype"].removeprefix("torch.")}
    if real["use_v1"] is not None:
        assert ours["engine"] == {"1": "V1", "0": "V0"}[real["use_v1"]]


def test_llm_class_takes_more_tokens() -> None:
    assert _values("Tesla T4", "0.32.0", "llm-class")["max_num_batched_tokens"] == 8192
    assert _values("NVIDIA H20", "0.20.2", "llm-class")["max_num_batched_tokens"] == 16384


def test_large_a100_is_in_the_small_tier_from_090() -> None:
    assert _values("NVIDIA A100-SXM4-80GB", "0.8.5")["max_num_seqs"] == 1024
    assert _values("NVIDIA A100-SXM4-80GB", "0.9.2")["max_num_seqs"] == 256
