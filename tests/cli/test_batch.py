"""`envcheck batch`: order, bad lines, streaming, bounds, broken pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.cli.batch_answer import Answerer
from envcheck.cli.lines import groups
from envcheck.matrix.load import load
from envcheck.render.catalogue import Catalogue
from envcheck.render.jsonmodel import BatchError, BatchOut

Run = Callable[..., tuple[int, str, str]]
Process = Callable[..., subprocess.CompletedProcess[bytes]]
A10: dict[str, Any] = {
    "os": {"glibc": "2.35", "arch": "x86_64"},
    "python": {"version": "3.10.12"},
    "driver": {"version": "535.161.08"},
    "gpus": [{"name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}],
}
MATRIX = load()
MODEL = "Qwen/Qwen2.5-7B-Instruct"
COMMAND = [sys.executable, "-m", "envcheck", "batch"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(MATRIX, Catalogue("en"))


def ask(answerer: Answerer, question: object) -> Any:
    """The answer as JSON."""
    line = question if isinstance(question, bytes) else json.dumps(question).encode()
    return json.loads(msgspec.json.encode(answerer.answer(line, 1)))


def write(path: Path, lines: Iterable[object]) -> str:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_answers_stand_in_order_and_a_bad_line_stops_nothing(envcheck: Run, tmp_path: Path) -> None:
    lines = [{"id": "a", "host": A10}, "{broken", {"id": "b", "host": {"driver": {"version": 5}}}, "", {"id": 3, "host": A10}]
    status, out, err = envcheck("batch", write(tmp_path / "in", lines))
    answers = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (4, "")
    assert [answer["id"] for answer in answers] == ["a", None, "b", 3]
    assert ["error" in answer for answer in answers] == [False, True, True, False]
    assert "line 2" in answers[1]["error"]
    assert "$.host.driver.version" in answers[2]["error"]


def test_all_answered_is_status_0(envcheck: Run, tmp_path: Path) -> None:
    assert envcheck("batch", write(tmp_path / "in", [{"id": 1, "host": A10}]))[0] == 0
    assert envcheck("batch", write(tmp_path / "in", []))[:2] == (0, "")


def test_an_answer_has_the_keys_of_the_contract(answerer: Answerer) -> None:
    answer = ask(answerer, {"id": "x", "host": A10})
    assert list(answer) == ["id", "verdict", "engine", "findings"]
    assert answer["verdict"] == "ready-with-warnings"
    assert answer["findings"][0] == {"code": "driver-too-old-for-cuda", "severity": "warning", "origin": "rule"}


def test_any_json_value_may_be_an_id(answerer: Answerer) -> None:
    for id_ in (None, 0, "", [1, {"a": None}], {"k": 1.5}, "中文"):
        assert ask(answerer, {"id": id_, "host": {}})["id"] == id_


def test_size_answers_with_the_keys_of_the_contract(answerer: Answerer) -> None:
    answer = ask(answerer, {"id": 1, "host": A10, "request": {"vllm": "0.19.1", "model": MODEL}, "want": ["check", "size"]})
    size = answer["size"]
    assert {"verdict", "engine", "per_gpu_gib", "kv", "failure", "suggested", "confidence"} <= size.keys()
    terms = {"total", "budget", "weights", "activation", "sampler", "encoder", "non_torch", "cuda_graphs", "kv_cache"}
    assert size["per_gpu_gib"].keys() == terms
    assert size["verdict"] == "fits"
    assert "max_model_len" in size["suggested"]["serve_args"]


def test_a_configuration_in_the_line_wins_over_the_catalogue(answerer: Answerer) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "hidden_size": 512,
        "intermediate_size": 1024,
        "vocab_size": 1000,
        "max_position_embeddings": 2048,
        "torch_dtype": "bfloat16",
    }
    request = {"vllm": "0.19.1", "model": MODEL, "model_config": config}
    size = ask(answerer, {"id": 1, "host": A10, "request": request, "want": ["size"]})["size"]
    # 2 layers x 2 (key and value) x 2 heads x 64 x 2 bytes
    assert size["kv"]["bytes_per_token"] == pytest.approx(1024, rel=0.01)


def test_a_model_not_known_is_unknown_and_no_error(answerer: Answerer) -> None:
    answer = ask(answerer, {"id": 1, "host": A10, "request": {"model": "no/such"}, "want": ["size"]})
    assert answer["verdict"] == "unknown"
    assert answer["size"]["verdict"] == "unknown"


def test_plan_is_answered(answerer: Answerer) -> None:
    answer = ask(answerer, {"id": 1, "host": A10, "want": ["plan"]})
    assert answer["plan"]["stack"]["vllm"] == "0.19.1"


def test_a_log_is_taken_and_a_release_that_does_not_exist_is_the_line_s_error(answerer: Answerer) -> None:
    assert ask(answerer, {"id": 1, "log": "ImportError", "want": ["diagnose"]})["findings"] == []
    assert "99.9" in ask(answerer, {"id": 1, "request": {"vllm": "99.9"}})["error"]


def test_infinity_in_a_model_configuration_is_let_pass(answerer: Answerer) -> None:
    line = b'{"id": 7, "host": {}, "request": {"model_config": {"time_step_limit": [0.0, Infinity]}}, "want": ["size"]}'
    assert ask(answerer, line)["id"] == 7
    assert "error" in ask(answerer, b'{"id": 8, "host": {"driver": {"version": NaN}}}')


def test_a_fault_of_ours_in_one_line_is_that_line_s_error(answerer: Answerer, monkeypatch: pytest.MonkeyPatch) -> None:
    import envcheck.cli.batch_answer as module

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(module, "judge", broken)
    assert "ZeroDivisionError" in ask(answerer, {"id": 9})["error"]


@given(st.binary(max_size=120))
def test_any_line_has_an_answer(line: bytes) -> None:
    answer = Answerer(MATRIX, Catalogue("en")).answer(line, 1)
    assert isinstance(answer, (BatchOut, BatchError))
    msgspec.json.encode(answer)


@given(st.binary(max_size=400), st.integers(1, 50), st.lists(st.integers(1, 40), min_size=1))
def test_lines_are_those_of_the_stream_however_it_arrives(data: bytes, limit: int, sizes: list[int]) -> None:
    stream = BytesIO(data)
    turn = iter(sizes * 500)
    arrived = [line for group in groups(lambda size: stream.read(min(size, next(turn))), limit) for line in group]
    lines = data.split(b"\n")
    expected = [line if len(line) <= limit else None for line in (lines if lines[-1] else lines[:-1])]
    assert arrived == expected


def test_a_line_over_the_limit_is_an_error_and_takes_little_memory(processes: None, tmp_path: Path) -> None:
    path = tmp_path / "in"
    with path.open("wb") as file:
        file.write(b'{"id": 1}\n{"id": "')
        file.seek(120 << 20)
        file.write(b'"}\n{"id": 3}\n')
    script = f"ulimit -v 500000; exec {' '.join(COMMAND)} {path}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=ENVIRONMENT, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 4, done.stderr
    assert [answer["id"] for answer in answers] == [1, None, 3]
    assert "16 MiB" in answers[1]["error"]


def test_an_answer_comes_while_the_input_is_still_open(processes: None) -> None:
    with subprocess.Popen([*COMMAND, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as running:
        assert running.stdin
        assert running.stdout
        for number in (1, 2):
            running.stdin.write(json.dumps({"id": number, "host": {}}).encode() + b"\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["id"] == number
        running.stdin.close()
        assert running.wait(timeout=30) == 0


def test_a_reader_that_leaves_ends_it_quietly(processes: None, tmp_path: Path) -> None:
    path = write(tmp_path / "in", ({"id": number, "host": A10} for number in range(5000)))
    script = f"{' '.join(COMMAND)} {path} | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=ENVIRONMENT, check=False)
    assert json.loads(done.stdout)["id"] == 0
    assert done.stderr == b""


def test_errors_speak_chinese_when_asked(envcheck: Run, tmp_path: Path) -> None:
    assert "第 1 行" in envcheck("batch", write(tmp_path / "in", ["{"]), "--lang", "zh")[1]


def test_half_a_surrogate_pair_ends_no_batch(answerer: Answerer) -> None:
    assert ask(answerer, rb'{"id": "\ud800", "host": {}}')["id"] == "?"
    answer = ask(answerer, rb'{"id": 1, "host": {"gpus": [{"name": "\ud800"}]}, "request": {"model": "\udfff"}, "want": ["size", "plan"]}')
    assert (answer["id"], "error" in answer) == (1, False)
    assert ask(answerer, rb'{"id": ["\ud800", Infinity], "want": 5}')["id"] == ["?", None]


def test_a_line_without_end_is_not_held() -> None:
    chunks = chain((bytes(100_000) for _ in range(300)), [b"\nshort\n", b""])
    tracemalloc.start()
    try:
        arrived = [line for group in groups(lambda size: next(chunks), 1 << 20) for line in group]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert arrived == [None, b"short"]
    assert peak < 4_000_000


def test_a_model_that_does_not_fit_blocks_where_check_and_size_are_wanted(answerer: Answerer) -> None:
    request = {"vllm": "0.19.1", "model": "meta-llama/Llama-3.3-70B-Instruct"}
    both = ask(answerer, {"host": A10, "request": request, "want": ["check", "size"]})
    assert (both["verdict"], both["size"]["failure"]["kind"]) == ("blocked", "weights")
    assert "oom-weights" in {finding["code"] for finding in both["findings"]}
    alone = ask(answerer, {"host": A10, "request": request})
    assert alone["verdict"] != "blocked"
