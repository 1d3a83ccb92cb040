"""Which engine serves the planned arguments. Expectations from the releases' own choice between V0 and V1, as their source has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request
from envcheck.planning.serving.engine import engine_notes
from envcheck.render.catalogue import Catalogue, Lang
from envcheck.rules.check import judge

TOP = Path(__file__).parents[2]
MATRIX = Matrix(TOP / "matrices")
QWEN3 = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 36,
}


def notes(
    vllm: str,
    arguments: dict[str, Any],
    capability: str = "8.6",
    config: dict[str, Any] | None = None,
    lang: Lang = "en",
    **environment: str,
) -> dict[str, str]:
    gpus = [{"name": "NVIDIA A10", "compute_capability": capability, "memory_mib": 23028}]
    host = msgspec.convert({"gpus": gpus, "driver": {"version": "580.95.05"}, "environment": environment}, HostReport)
    release = MATRIX.release(vllm)
    assert release is not None
    situation = judge(host, MATRIX, Request()).situation
    spec = ModelSpec("a/b", config or {"model_type": "llama"}, ModelSource("catalogue", "-"))
    found = engine_notes(situation, MATRIX, release, spec, arguments)
    return {note.key.removeprefix("serve.note."): Catalogue(lang).text(note) for note in found}


@pytest.mark.parametrize(
    ("arguments", "falls", "stays"),
    [
        ({"kv_cache_dtype": "fp8"}, "0.8.0", "0.10.0"),
        ({"kv_cache_dtype": "fp8"}, "0.9.2", "0.7.3"),  # before 0.8.0 V0 is the default, and nothing falls back
        ({"cpu_offload_gb": 4}, "0.8.2", "0.8.3"),
        ({"num_scheduler_steps": 8}, "0.10.1.1", "0.10.2"),
        ({"dtype": "float32"}, "0.8.5", "0.9.2"),
        ({"task": "embed"}, "0.8.5", "0.9.2"),
        ({"quantization": "bitsandbytes"}, "0.8.2", "0.8.3"),
        ({"scheduling_policy": "priority"}, "0.8.5", "0.9.2"),
        ({"preemption_mode": "swap"}, "0.10.2", "0.11.0"),  # 0.11.0 has no V0 any more
        ({"scheduler_delay_factor": 0.5}, "0.8.0", "0.11.0"),
    ],
)
def test_an_argument_that_v1_lacks_takes_v0(arguments: dict[str, Any], falls: str, stays: str) -> None:
    assert "engine-falls-back" in notes(falls, arguments)
    assert notes(stays, arguments) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        {"kv_cache_dtype": "auto"},
        {"cpu_offload_gb": 0},
        {"num_scheduler_steps": 1},
        {"dtype": "half"},
        {"task": "generate"},
        {"max_num_seqs": 8},
    ],
)
def test_what_v1_has_keeps_it(arguments: dict[str, Any]) -> None:
    assert notes("0.8.0", arguments) == {}


def test_fp8_keys_and_values_stay_with_v1_where_flash_attention_3_runs() -> None:
    assert notes("0.9.2", {"kv_cache_dtype": "fp8"}, "9.0") == {}
    assert "engine-falls-back" in notes("0.8.1", {"kv_cache_dtype": "fp8"}, "9.0")


def test_the_switch_decides() -> None:
    assert "engine-refuses" in notes("0.8.5", {"task": "embed"}, VLLM_USE_V1="1")
    assert notes("0.8.5", {"task": "embed"}, VLLM_USE_V1="0") == {}


def test_the_newer_runner_is_named_where_the_model_decides() -> None:
    assert "VLLM_USE_V2_MODEL_RUNNER=0" in notes("0.22.0", {}, config=QWEN3)["runner"]  # dense Qwen3 first
    assert notes("0.22.0", {}, config={**QWEN3, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}) == {}
    assert notes("0.21.0", {}, config=QWEN3) == {}
    assert notes("0.33.0", {}, config=QWEN3) == {}  # all models: nothing to tell


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_sentence_is_said_somewhere(lang: Lang) -> None:
    seen = {
        *notes("0.8.5", {"task": "embed"}, lang=lang),
        *notes("0.8.5", {"task": "embed"}, lang=lang, VLLM_USE_V1="1"),
        *notes("0.22.0", {}, config=QWEN3, lang=lang),
    }
    sentences = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    assert {key.removeprefix("serve.note.") for key in sentences if key.startswith(("serve.note.engine-", "serve.note.runner"))} == seen


@pytest.mark.parametrize("value", [None, [], {}, "x" * 10_000, float("nan"), -1])
def test_any_value_is_borne(value: object) -> None:
    notes("0.8.5", {"task": value, "dtype": value, "kv_cache_dtype": value})
