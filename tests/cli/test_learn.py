"""`envcheck learn` as a command: records, what it adds to, what it leaves alone, its status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
LOG = """\
INFO vLLM API server version 0.19.0
INFO [gpu_model_runner.py:4735] Model loading took 14.99 GiB memory and 14.429680 seconds
INFO [gpu_worker.py:423] Available KV cache memory: 58.11 GiB
INFO:     Application startup complete.
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "server.log"
    path.write_text(LOG, encoding="utf-8")
    return str(path)


def test_a_record_as_json(envcheck: Run, log: str) -> None:
    status, out, _ = envcheck("learn", log, "--gpu", "H100", "--model", "meta-llama/Llama-3.1-8B", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["schema"] == "envcheck.learned/1"
    (run,) = answer["runs"]
    assert (run["log"], run["vllm"], run["gpu"], run["outcome"]) == ("server.log", "0.19.0", "NVIDIA H100", "starts")
    assert run["memory"]["kv_gib"] == 58.11
    assert "gpu" not in run["missing"]
    assert "total_gib" in run["missing"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_text_fits_eighty_cells_and_names_what_is_missing(envcheck: Run, log: str, lang: str) -> None:
    from envcheck.render.layout import cells

    status, out, _ = envcheck("learn", log, "-v", "--lang", lang)
    assert status == 0
    assert "58.11" in out
    assert "total_gib" in out
    assert max(map(cells, out.splitlines())) <= 80


def test_records_are_added_to_a_file_each_once(envcheck: Run, log: str, tmp_path: Path) -> None:
    target = tmp_path / "learned.json"
    for _ in range(2):
        assert envcheck("learn", log, "-q", "--output", str(target))[0] == 0
    other = tmp_path / "other.log"
    other.write_text(LOG.replace("58.11", "50.00"), encoding="utf-8")
    envcheck("learn", str(other), "-q", "--output", str(target))
    assert [run["memory"]["kv_gib"] for run in json.loads(target.read_text(encoding="utf-8"))["runs"]] == [58.11, 50.0]


def test_a_file_that_holds_no_records_is_left_alone(envcheck: Run, log: str, tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("mine", encoding="utf-8")
    status, _, err = envcheck("learn", log, "--output", str(target))
    assert status == 2
    assert "notes.txt" in err
    assert target.read_text(encoding="utf-8") == "mine"


def test_a_log_that_tells_of_no_start_is_named_and_the_status_says_so(envcheck: Run, log: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"")
    status, out, _ = envcheck("learn", log, str(empty), "--json")
    assert status == 3
    assert json.loads(out)["unread"] == ["empty.log"]
    assert len(json.loads(out)["runs"]) == 1


def test_a_log_that_is_not_there_and_none_at_all_are_usage_errors(envcheck: Run, tmp_path: Path) -> None:
    assert envcheck("learn", str(tmp_path / "none.log"))[0] == 2
    assert envcheck("learn")[0] == 2


def test_a_host_document_is_no_option_of_it(envcheck: Run, log: str) -> None:
    assert envcheck("learn", log, "--host", "x.json")[0] == 2
