"""Which engine and model runner a plan says will serve. Expectations from the releases' sources: default, floors, what VLLM_USE_V1 does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.plan import EngineUse
from envcheck.model.request import Request
from envcheck.planning.serving.engine import engine_use
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


def use(
    vllm: str,
    capability: str = "8.6",
    environment: dict[str, str] | None = None,
    arguments: dict[str, Any] | None = None,
    spec: ModelSpec | None = None,
) -> EngineUse:
    gpus = [{"name": "GPU", "compute_capability": capability, "memory_mib": 23028}]
    host = msgspec.convert({"gpus": gpus, "driver": {"version": "580.95.05"}, "environment": environment or {}}, HostReport)
    release = MATRIX.release(vllm)
    assert release is not None
    found = engine_use(judge(host, MATRIX, Request()).situation, MATRIX, release, spec, arguments or {})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("vllm", "capability", "environment", "engine", "reason", "told"),
    [
        ("0.6.3", "8.6", {}, "v0", "only", False),
        ("0.7.3", "8.6", {}, "v0", "default-early", False),
        ("0.7.3", "8.6", {"VLLM_USE_V1": "1"}, "v1", "asked-v1", True),
        ("0.8.5", "8.6", {}, "v1", "default-selects", False),
        ("0.8.5", "8.6", {"VLLM_USE_V1": "0"}, "v0", "asked-v0", True),
        ("0.9.2", "7.5", {}, "v0", "gpu", True),
        ("0.9.2", "7.5", {"VLLM_USE_V1": "0"}, "v0", "gpu", True),
        ("0.10.2", "7.0", {}, "v1", "default-selects", False),
        ("0.11.0", "8.6", {}, "v1", "only-zero-fails", False),
        ("0.14.0", "8.6", {}, "v1", "only-ignored", False),
        ("0.33.0", "8.6", {"VLLM_USE_V1": "1"}, "v1", "only-warns", False),
    ],
)
def test_the_engine_and_why(vllm: str, capability: str, environment: dict[str, str], engine: str, reason: str, told: bool) -> None:
    found = use(vllm, capability, environment)
    assert (found.engine, found.why.key, found.told) == (engine, f"plan.engine.{reason}", told)


def test_a_gpu_below_v1_is_told_from_which_release_v1_serves_it() -> None:
    assert use("0.8.5", "7.0").why.params["first"] == "0.10.2"


def test_an_argument_is_the_reason_even_where_the_variable_says_the_same() -> None:
    assert use("0.9.2", environment={"VLLM_USE_V1": "0"}, arguments={"preemption_mode": "swap"}).why.key == "plan.engine.kept"


def test_the_runner_is_that_of_the_model() -> None:
    spec = ModelSpec("a/b", QWEN3, ModelSource("catalogue", "-"))
    assert [use(vllm, spec=spec).runner for vllm in ("0.21.0", "0.22.0", "0.33.0")] == ["v1", "v2", "v2"]
    assert use("0.33.0").runner is None
    assert use("0.8.5", arguments={"preemption_mode": "swap"}, spec=spec).runner is None  # V0 has none of its own


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_reason_can_be_said(lang: Lang) -> None:
    catalogue = Catalogue(lang)
    told = {
        use(*one).why.key
        for one in (("0.6.3",), ("0.7.3",), ("0.8.5",), ("0.9.2", "7.5"), ("0.11.0",), ("0.14.0",), ("0.33.0",))
        if "{" not in catalogue.text(use(*one).why)
    }
    told |= {use("0.7.3", environment={"VLLM_USE_V1": "1"}).why.key, use("0.8.5", environment={"VLLM_USE_V1": "0"}).why.key}
    told |= {use("0.9.2", arguments={"preemption_mode": "swap"}).why.key}
    sentences = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    assert {key for key in sentences if key.startswith("plan.engine.")} == told | {"plan.engine.gpu-never"}
