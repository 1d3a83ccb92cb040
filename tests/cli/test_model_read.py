"""The rules see the model that was read: from a folder, from the hub's cache, from the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.cli.answer import informed
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request

Run = Callable[..., tuple[int, str, str]]
V100 = {"name": "Tesla V100-SXM2-32GB", "compute_capability": "7.0", "memory_mib": 32768}
HOST: dict[str, Any] = {
    "schema": "envcheck.host/1",
    "os": {"name": "Ubuntu 22.04.5 LTS", "id": "ubuntu", "version": "22.04", "glibc": "2.35", "arch": "x86_64"},
    "python": {"version": "3.12.3"},
    "driver": {"version": "580.95.05"},
    "gpus": [{"index": index, **V100} for index in range(4)],
    "packages": {},
    "torch": None,
}
CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 1000,
    "torch_dtype": "float16",
    "max_position_embeddings": 4096,
}
FOUR_BITS = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}


def write(folder: Path, more: dict[str, Any], weights_bytes: int | None = None) -> str:
    """A model's folder, whose name says nothing of what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **more}), encoding="utf-8")
    if weights_bytes is not None:
        index = {"metadata": {"total_size": weights_bytes}, "weight_map": {}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return str(folder)


def into_cache(cache: Path, more: dict[str, Any], weights_bytes: int | None = None) -> str:
    """The same as the hub's library leaves it behind."""
    repository = cache / "models--someone--mine"
    revision = "0123456789" * 4
    write(repository / "snapshots" / revision, more, weights_bytes)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision, encoding="utf-8")
    return "someone/mine"


@pytest.fixture
def ask(envcheck: Run, tmp_path: Path) -> Callable[..., tuple[int, dict[str, Any]]]:
    """`ask(command, model, *words, **host parts)`: status and JSON."""

    def call(command: str, model: str, *words: str, **more: Any) -> tuple[int, dict[str, Any]]:
        path = tmp_path / "host.json"
        path.write_text(json.dumps({**HOST, **more}), encoding="utf-8")
        status, out, err = envcheck(command, "--host", str(path), "--model", model, "--offline", "--json", *words)
        assert out, err
        return status, json.loads(out)

    return call


Ask = Callable[..., tuple[int, dict[str, Any]]]


def codes(answer: dict[str, Any], severity: str) -> list[str]:
    return [finding["code"] for finding in answer["findings"] if finding["severity"] == severity]


def test_a_format_that_the_gpu_does_not_take_blocks_the_check(ask: Ask, tmp_path: Path) -> None:
    status, answer = ask("check", write(tmp_path / "m", FOUR_BITS))
    assert (status, codes(answer, "error")) == (1, ["quantization-unsupported-gpu"])
    status, answer = ask("check", write(tmp_path / "m", {}))
    assert (status, codes(answer, "error")) == (0, [])


def test_a_model_in_the_hub_s_cache_is_seen_too(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    status, answer = ask("check", into_cache(tmp_path / "hub", FOUR_BITS))
    assert (status, codes(answer, "error")) == (1, ["quantization-unsupported-gpu"])


@pytest.mark.parametrize(("dtype", "expected"), [("bfloat16", ["bf16-unsupported-gpu"]), ("float16", [])])
def test_the_type_it_is_stored_in_counts(ask: Ask, tmp_path: Path, dtype: str, expected: list[str]) -> None:
    _, answer = ask("check", write(tmp_path / "m", {"torch_dtype": dtype}))
    assert [code for code in codes(answer, "warning") if code.startswith("bf16")] == expected


@pytest.mark.parametrize(("size", "status"), [("2", 0), ("4", 1)])
def test_sizes_must_divide_its_heads(ask: Ask, tmp_path: Path, size: str, status: int) -> None:
    got, answer = ask("plan", write(tmp_path / "m", {}), "--tensor-parallel-size", size)  # six heads
    assert got == status
    assert ("parallel-size-invalid" in codes(answer, "error")) is bool(status)


def test_its_kernels_are_switched_off_where_nothing_compiles_them(ask: Ask, tmp_path: Path) -> None:
    blocks = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    h20 = {"gpus": [{"index": 0, "name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871}], "toolkits": None, "tools": {}}

    def environment(more: dict[str, Any]) -> dict[str, str]:
        _, plan = ask("plan", write(tmp_path / "m", more), **h20)
        return {entry["flag"]: entry["value"] for entry in plan["serve"]["environment"]}

    assert environment(blocks) == {"VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_USE_DEEP_GEMM": "0"}
    assert environment({}) == {"VLLM_USE_FLASHINFER_SAMPLER": "0"}


GIB = 1 << 30
SMALL = {"memory": {"ram_mib": 16 * 1024}, "disk": [{"path": "~/.cache/huggingface", "free_mib": 10 * 1024, "purposes": ["model-cache"]}]}


def test_its_weights_are_held_against_the_host_s_memory(ask: Ask, tmp_path: Path) -> None:
    def seen(weights_bytes: int) -> list[str]:
        _, answer = ask("check", write(tmp_path / "m", {}, weights_bytes), **SMALL)
        return [f["code"] for f in answer["findings"] if f["code"] == "host-memory-too-small" and "weights_gib" in f["evidence"]]

    assert seen(24 * GIB) == ["host-memory-too-small"]
    assert seen(8 * GIB) == []


def test_what_is_downloaded_needs_no_room(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    _, answer = ask("check", into_cache(tmp_path / "hub", {}, 24 * GIB), **SMALL)
    assert "disk-full" not in [finding["code"] for finding in answer["findings"]]


def test_what_the_hub_tells_of_a_model_stands_in_the_request_and_what_the_user_says_stays() -> None:
    spec = ModelSpec("someone/mine", CONFIG, ModelSource("hub", "-"), 64 * GIB)
    asked = Request(model="someone/mine", serve_args={"tensor_parallel_size": 4, "pipeline_parallel_size": "two"})
    told = informed(asked, spec)
    assert (told.model_config, told.weights_gib) == (CONFIG, 16.0)  # of each of four GPUs; a size that is none parts nothing
    stated = Request(model="someone/mine", model_config={"model_type": "llama"}, weights_gib=3.5)
    assert informed(stated, spec) == stated


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--model", "/no/such/folder"], 2, "/no/such/folder"),
        (["--model", "no/such-model"], 3, "no/such-model"),
        (["--model", "no/such-model", "--vllm", "99.9"], 2, "99.9"),
        (["--model", "no/such-model", "--vllm", "0.33.0+cu118"], 2, "0.33.0"),
    ],
)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_model_that_cannot_be_read_is_said_after_the_release(
    envcheck: Run, a10: str, command: str, words: list[str], status: int, said: str
) -> None:
    got, out, err = envcheck(command, "--host", a10, "--offline", *words)
    assert (got, out) == (status, "")
    assert said in err


def test_a_broken_configuration_is_a_broken_input(envcheck: Run, a10: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    got, out, err = envcheck("check", "--host", a10, "--offline", "--model", str(tmp_path))
    assert (got, out) == (4, "")
    assert "config.json" in err


def test_a_folder_of_the_home_is_served_by_its_whole_path(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "m", {})
    _, plan = ask("plan", "~/m")  # the scripts quote it, and a quoted ~ is no home
    assert plan["serve"]["model"] == str(tmp_path / "m")
