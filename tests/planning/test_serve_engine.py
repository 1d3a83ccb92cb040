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
        ({"kv_cache_dtype": "fp8"}, "0.8.0", "0.11.0"),
        ({"kv_cache_dtype": "fp8"}, "0.9.2", "0.7.3"),  # before 0.8.0 V0 is the default, and nothing falls back
        ({"cpu_offload_gb": 4}, "0.8.2", "0.8.3"),
        ({"num_scheduler_steps": 8}, "0.10.0", "0.10.1.1"),  # whose parser does not have it
        ({"enable_prompt_embeds": True}, "0.9.0", "0.11.0"),
        ({"enable_lora": True}, "0.8.2", "0.8.3"),
        ({"pipeline_parallel_size": 2}, "0.9.0", "0.9.1"),
        ({"guided_decoding_backend": "outlines"}, "0.9.2", "0.10.0"),
        ({"otlp_traces_endpoint": "http://127.0.0.1:4317"}, "0.10.1.1", "0.10.2"),
        ({"speculative_config": '{"model": "a/draft", "num_speculative_tokens": 3}'}, "0.9.2", "0.10.0"),
        ({"worker_cls": "a.Worker"}, "0.8.1", "0.8.2"),
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
    assert "engine-falls-back" in notes("0.9.2", {"kv_cache_dtype": "fp8"}, "10.0")
    assert notes("0.10.0", {"kv_cache_dtype": "fp8"}, "10.0") == {}  # from here on every backend of that GPU


def test_a_method_of_speculating_keeps_v1_or_not() -> None:
    eagle = {"speculative_config": {"method": "eagle", "model": "a/b", "num_speculative_tokens": 2}}
    assert "engine-falls-back" in notes("0.8.5", eagle)
    assert notes("0.8.5", eagle, VLLM_USE_V1="1") == {}  # experimental: served where it is asked for
    assert notes("0.9.0", eagle) == {}


def test_what_starts_the_workers_counts_for_a_pipeline() -> None:
    assert notes("0.8.5", {"pipeline_parallel_size": 2, "distributed_executor_backend": "ray"}) == {}
    assert "engine-falls-back" in notes("0.8.5", {"pipeline_parallel_size": 2, "distributed_executor_backend": "mp"})
    assert notes("0.9.0", {"pipeline_parallel_size": 2, "distributed_executor_backend": "mp"}) == {}


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


def judged(arguments: dict[str, Any], vllm: str = "0.9.2", **environment: str) -> Any:
    gpus = [{"name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}]
    told = {"os": {"arch": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12.3"}, "driver": {"version": "580.95.05"}}
    host = msgspec.convert({**told, "gpus": gpus, "environment": environment}, HostReport)
    return judge(host, MATRIX, Request(vllm=vllm, serve_args=arguments))


def test_the_judge_names_the_engine_that_the_arguments_lead_to() -> None:
    assert judged({}).engine == "v1"
    assert judged({"kv_cache_dtype": "fp8"}).engine == "v0"
    assert judged({"kv_cache_dtype": "fp8"}, "0.11.0").engine == "v1"


def test_an_argument_that_the_engine_asked_for_refuses_blocks() -> None:
    def codes(**environment: str) -> list[str]:
        found = judged({"kv_cache_dtype": "fp8"}, **environment).findings
        return [finding.code for finding in found if finding.severity.value == "error"]

    assert codes(VLLM_USE_V1="1") == ["engine-choice-ignored"]
    assert codes(VLLM_USE_V1="0") == codes() == []


def test_the_plan_is_sized_for_the_engine_that_runs() -> None:
    from envcheck.planning.stack import choose_stack

    found = choose_stack(judged({"preemption_mode": "swap"}), MATRIX, Request(vllm="0.9.2", serve_args={"preemption_mode": "swap"}))
    assert found.stack is not None
    assert found.stack.engine == "v0"
