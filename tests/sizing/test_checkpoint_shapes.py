"""Bytes of a checkpoint by its configuration against the files that the real `transformers` wrote of the same model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from packaging.version import Version

from envcheck.model.units import GIB
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.quantization import weight_format
from envcheck.sizing.result import size
from envcheck.sizing.spec import Dimensions
from envcheck.sizing.weights import checkpoint_bytes

SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.json"))
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "F8_E4M3": 1}


NONSENSE = (None, "", -1, 0, True, 1.5, 10**30, float("nan"), [], [None], [10**9] * 3, {}, {"0": None, "1": {"head_dim": "no"}}, "x", [[1]])


def in_files(fixture):
    return sum(BYTES[kind] * math.prod(shape) for _, kind, shape in fixture["tensors"])


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_a_checkpoint_is_known_to_the_byte(facts, path):
    fixture = json.loads(path.read_text(encoding="utf-8"))
    dims = Dimensions.from_config(fixture["config"], facts.families)
    assert dims.missing == ()
    assert checkpoint_bytes(dims, weight_format(dims, None, "", 2.0, facts.quantization)) == in_files(fixture)


def test_every_kind_of_model_is_among_them():
    kinds = {json.loads(path.read_text(encoding="utf-8"))["config"]["model_type"] for path in SHAPES}
    assert kinds >= {"llama", "qwen2", "qwen3", "mixtral", "qwen3_moe", "gemma3", "deepseek_v2", "deepseek_v3", "phi3", "gpt_oss"}
    assert kinds >= {"mamba2", "jamba", "t5", "whisper", "bert", "qwen2_5_vl"}


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_any_field_may_hold_nonsense(table, path):
    config = json.loads(path.read_text(encoding="utf-8"))["config"]
    card = Card(name="NVIDIA H100 80GB HBM3", total_bytes=79 * GIB)
    parts = [config, *(config[name] for name in ("text_config", "vision_config", "quantization_config") if name in config)]
    fields = [(part, name) for part in parts for name in part]
    for i, (part, name) in enumerate(fields):
        good, part[name] = part[name], NONSENSE[(i + len(fields)) % len(NONSENSE)]
        serve = {"tensor_parallel_size": 1 + i % 3, "pipeline_parallel_size": 1 + i % 5}
        answer = size(SizingInputs(config=config, card=card, release=Version("0.33.0"), serve_args=serve), table)
        part[name] = good
        assert answer.per_gpu_gib.weights is None or answer.per_gpu_gib.weights >= 0
