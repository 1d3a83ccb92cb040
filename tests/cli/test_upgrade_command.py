"""`envcheck upgrade` and `envcheck defaults` as commands: JSON as its schema says, both languages, usage, hostile words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
MODEL = ("--model", "Qwen/Qwen2.5-7B-Instruct", "--offline")


def upgrade(envcheck: Run, *words: str) -> Any:
    status, out, _ = envcheck("upgrade", "--json", *words)
    assert status == 0
    return json.loads(out)


def test_the_json_has_the_keys_of_its_schema(envcheck: Run) -> None:
    schema = json.loads(envcheck("upgrade", "--schema")[1])
    document = upgrade(envcheck, "--from", "0.19.1", "--to", "0.20.0", "--gpu", "NVIDIA A10", *MODEL)
    assert set(document) == set(schema["$defs"]["UpgradeOut"]["properties"])
    terms = {term["name"]: term for term in document["memory"]["terms"]}
    assert document["kv_gib"] == [terms["kv_cache"]["before"], terms["kv_cache"]["after"]]
    utilization = document["memory"]["effects"][0]
    assert (utilization["setting"], utilization["keep"]) == ("gpu_memory_utilization", "--gpu-memory-utilization 0.9")
    assert utilization["kv_gib"] == pytest.approx(0.02 * terms["total"]["after"], abs=0.01)
    assert "Qwen2ForCausalLM" in document["model"]  # what other catalogued models of the type qwen2 name


def test_a_model_of_a_folder_has_its_architecture_looked_up(envcheck: Run, tmp_path: Path) -> None:
    config = {"architectures": ["MllamaForConditionalGeneration"], "model_type": "mllama", "hidden_size": 64}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ("--from", "0.8.5", "--gpu", "NVIDIA A10", "--model", str(tmp_path), "--offline")
    assert "last release that does is 0.10.2" in upgrade(envcheck, *words, "--to", "0.11.0")["model"]
    assert "has its architecture" in upgrade(envcheck, *words, "--to", "0.10.2")["model"]


def test_without_a_model_there_is_no_memory(envcheck: Run) -> None:
    document = upgrade(envcheck, "--from", "0.19.1", "--to", "0.20.0", "--gpu", "NVIDIA A10")
    assert (document["memory"], document["kv_gib"], document["model"]) == (None, None, None)


def test_what_the_target_meets_on_this_host(envcheck: Run, a10: str) -> None:
    """Driver 535 and Python 3.10: too old for CUDA 13, and for a release from Python 3.11 on."""
    found = upgrade(envcheck, "--from", "0.19.1", "--to", "0.33.0", "--host", a10)["host"]
    assert {one["code"] for one in found} >= {"driver-too-old-for-cuda", "python-unsupported"}
    assert upgrade(envcheck, "--from", "0.8.5", "--to", "0.9.2", "--host", a10)["host"] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_is_whole_in_each_language(envcheck: Run, a10: str, lang: str) -> None:
    words = ("--from", "0.6.6", "--to", "0.20.0", "--host", a10, "--lang", lang, *MODEL, "-v")
    status, out, _ = envcheck("upgrade", *words, "--", "--swap-space", "8", "--quantization", "bitsandbytes")
    assert status == 0
    assert "upgrade." not in out  # a sentence that is missing shows as its key
    assert "{" not in out.replace("'{", "").replace('{"', "")
    assert ("要做的事" in out) == (lang == "zh")


def test_a_command_with_variables_is_one_line_to_type(envcheck: Run) -> None:
    out = envcheck("upgrade", "--from", "0.31.0", "--to", "0.20.0", "--gpu", "NVIDIA A10", "--", "--log-level", "DEBUG")[1]
    assert "env VLLM_LOGGING_LEVEL=DEBUG vllm serve MODEL" in out


def test_what_is_missing_is_said(envcheck: Run) -> None:
    assert envcheck("upgrade", "--to", "0.20.0")[0] == 2
    assert envcheck("upgrade", "--from", "0.999.0", "--gpu", "NVIDIA A10")[0] == 2


def test_hostile_arguments_are_data(envcheck: Run) -> None:
    nasty = "x'; rm -rf / #\x1b[2J"
    status, out, _ = envcheck("upgrade", "--from", "0.8.5", "--to", "0.20.0", "--gpu", "NVIDIA A10", "--", "--served-model-name", nasty)
    assert status == 0
    assert "\x1b" not in out
    assert r"--served-model-name $'x\'; rm -rf / #\x1b[2J'" in out  # one word, the escape written out


def test_defaults_say_what_they_rest_on(envcheck: Run) -> None:
    document = json.loads(envcheck("defaults", "--vllm", "0.20.0", "--gpu", "NVIDIA A10", "--json")[1])
    found = {one["setting"]: one for one in document["defaults"]}
    assert found["cudagraphs_in_budget"]["value"] is True
    assert found["cudagraphs_in_budget"]["first"] == "0.20.0"
    assert "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0" in found["cudagraphs_in_budget"]["why"]
    assert found["free_memory_check"]["first"] == "0.9.1"
    assert found["gpu_memory_utilization"]["first"] == "0.20.0"


def test_the_command_line_names_the_model_and_unknown_defaults_as_such(envcheck: Run, tmp_path: Path) -> None:
    host = tmp_path / "host.json"
    host.write_text('{"schema": "envcheck.host/1"}', encoding="utf-8")
    text = envcheck("upgrade", "--from", "0.6.3", "--to", "0.33.0", "--host", str(host), *MODEL, "--", "--max-num-seqs", "4")[1]
    assert f"vllm serve {MODEL[1]}" in text
    assert "MODEL" not in text
    assert "max_num_batched_tokens: 2048 -> not known" in text or "max_num_batched_tokens: 512 -> not known" in text


def test_a_word_of_the_old_release_is_said_by_that_of_the_new_one(envcheck: Run) -> None:
    words = ("--from", "0.33.0", "--to", "0.19.1", "--gpu", "NVIDIA A10", "--", "--disable-prefix-caching")
    document = upgrade(envcheck, *words)
    assert document["command"] == ["--no-enable-prefix-caching"]
    assert any("`--disable-prefix-caching`" in note for note in document["notes"])
