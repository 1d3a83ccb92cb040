"""`envcheck diagnose`: files and pipes, forms of answer, exit status, following a log."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
Process = Callable[..., subprocess.CompletedProcess[bytes]]
CAUSE = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver.\n"
HEALTHY = "INFO 11-30 17:00:01 [api_server.py:1] Starting vLLM API server on http://127.0.0.1:8000\n" * 3
STRANGE = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nflurble.FlurbleError: the snark was a boojum\n'


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("text", "status"), [(CAUSE, 1), (HEALTHY, 0), (STRANGE, 3), ("", 0)])
def test_the_status_says_whether_a_cause_was_found(envcheck: Run, tmp_path: Path, text: str, status: int) -> None:
    assert envcheck("diagnose", written(tmp_path / "log", text))[0] == status


def test_the_answer_names_the_cause_its_line_and_what_to_do(envcheck: Run, tmp_path: Path) -> None:
    _, out, err = envcheck("diagnose", written(tmp_path / "log", HEALTHY + CAUSE))
    assert "[driver-too-old-for-cuda]" in out.splitlines()[0]
    assert "line 4:" in out
    assert "found version" in out
    assert "->" in out
    assert err == ""
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_same_in_chinese(envcheck: Run, tmp_path: Path) -> None:
    _, out, _ = envcheck("diagnose", "--lang", "zh", written(tmp_path / "log", CAUSE))
    assert "第 1 行" in out
    assert "驱动" in out


def test_quiet_is_the_cause_alone(envcheck: Run, tmp_path: Path) -> None:
    _, out, _ = envcheck("diagnose", "-q", written(tmp_path / "log", CAUSE))
    assert "[driver-too-old-for-cuda]" in out
    assert "->" not in out


def test_what_is_not_understood_is_said_with_the_lines_that_say_the_most(envcheck: Run, tmp_path: Path) -> None:
    status, out, _ = envcheck("diagnose", written(tmp_path / "log", HEALTHY + STRANGE))
    assert status == 3
    assert "the snark was a boojum" in out
    assert "line 6:" in out


def test_json_is_of_its_schema(envcheck: Run, tmp_path: Path) -> None:
    name = written(tmp_path / "log", HEALTHY + CAUSE)
    answer = json.loads(envcheck("diagnose", "--json", name)[1])
    schema: dict[str, Any] = json.loads(envcheck("diagnose", "--schema")[1])
    assert answer["schema"] == "envcheck.diagnosis/1"
    assert answer["status"] == "cause"
    assert answer["causes"][0]["line"] == {"number": 4, "text": CAUSE.rstrip("\n"), "file": None}
    assert answer["causes"][0]["evidence"]["cuda"] == 11040
    assert "envcheck.diagnosis/1" in json.dumps(schema)


def test_markdown_cannot_be_broken_out_of(envcheck: Run, tmp_path: Path) -> None:
    text = CAUSE.rstrip("\n") + " ```` </details> <script> [x](http://x)\n"
    _, out, _ = envcheck("diagnose", "--format", "markdown", written(tmp_path / "log", text))
    fences = [line for line in out.splitlines() if line and set(line) == {"`"}]
    assert len(fences) % 2 == 0
    assert [len(fence) for fence in fences[:2]] == [5, 5]  # longer than what the line holds
    before = out.split(fences[0])[0]
    assert "<script>" not in before


def test_several_files_gzip_and_a_pipe_are_one_log(process: Process, tmp_path: Path) -> None:
    packed = tmp_path / "b.gz"
    packed.write_bytes(gzip.compress(CAUSE.encode()))
    plain = written(tmp_path / "a", HEALTHY.rstrip("\n"))
    done = process("diagnose", "--json", plain, str(packed))
    assert json.loads(done.stdout)["causes"][0]["line"]["number"] == 1
    assert json.loads(done.stdout)["causes"][0]["line"]["file"] == str(packed)
    assert done.returncode == 1
    piped = process("diagnose", "--json", "-", input=packed.read_bytes())
    assert json.loads(piped.stdout)["causes"][0]["code"] == "driver-too-old-for-cuda"


def test_what_cannot_be_read_is_a_usage_error_that_says_what_to_type(envcheck: Run, tmp_path: Path) -> None:
    status, _, err = envcheck("diagnose", str(tmp_path / "none"))
    assert status == 2
    assert "none" in err
    assert envcheck("diagnose", str(tmp_path))[0] == 3
    assert envcheck("diagnose", "-f", "a", "b")[0] == 2


def test_a_log_is_followed_as_it_grows(processes: None, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(HEALTHY, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "envcheck", "diagnose", "-q", "-f", str(log)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as child:
        try:
            assert child.stdout is not None
            time.sleep(1)
            with log.open("a", encoding="utf-8") as more:
                more.write(CAUSE)
            assert b"driver-too-old-for-cuda" in child.stdout.readline()
        finally:
            child.terminate()


def test_a_batch_answers_for_a_log_alone_and_with_its_host(envcheck: Run, tmp_path: Path) -> None:
    host = {"driver": {"version": "470.161.03"}, "gpus": [{"name": "Tesla T4", "compute_capability": "7.5"}]}
    lines = [
        {"id": 1, "log": CAUSE, "want": ["diagnose"]},
        {"id": 2, "log": HEALTHY, "want": ["diagnose"]},
        {"id": 3, "log": STRANGE, "want": ["diagnose"]},
        {"id": 4, "log": CAUSE, "host": host, "want": ["check", "diagnose"]},
    ]
    name = written(tmp_path / "in", "".join(json.dumps(line) + "\n" for line in lines))
    answers = [json.loads(line) for line in envcheck("batch", name)[1].splitlines()]
    assert [answer["verdict"] for answer in answers] == ["blocked", "ready", "unknown", "blocked"]
    assert answers[0]["findings"] == [{"code": "driver-too-old-for-cuda", "severity": "error", "origin": "log"}]
    assert answers[3]["findings"][0]["code"] == "driver-too-old-for-cuda"
    assert [found["code"] for found in answers[3]["findings"]].count("driver-too-old-for-cuda") == 1


def test_zstd_is_read_where_its_package_is_and_else_says_what_to_type(
    envcheck: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zstandard

    packed = tmp_path / "log.zst"
    whole = zstandard.ZstdCompressor().compress((HEALTHY * 9000 + CAUSE).encode())
    packed.write_bytes(whole + zstandard.ZstdCompressor().compress(b"more\n"))
    assert envcheck("diagnose", str(packed))[0] == 1
    packed.write_bytes(whole[: len(whole) // 2])
    assert envcheck("diagnose", str(packed))[0] == 0  # cut off before the cause
    monkeypatch.setitem(sys.modules, "zstandard", None)
    status, _, err = envcheck("diagnose", str(packed))
    assert status == 2
    assert "zstd -dc" in " ".join(err.split())


def test_lines_of_several_files_are_named_with_their_file(envcheck: Run, tmp_path: Path) -> None:
    names = [written(tmp_path / "head.log", HEALTHY.rstrip("\n")), written(tmp_path / "worker.log", HEALTHY + CAUSE)]
    assert f"line 4 of {names[1]}:" in " ".join(envcheck("diagnose", *names)[1].split())


def test_a_log_in_utf_16_is_read(envcheck: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for encoding in ("utf-16", "utf-16-be"):
        log.write_bytes(("\ufeff" if encoding == "utf-16-be" else "").encode(encoding) + (HEALTHY + CAUSE).encode(encoding))
        assert envcheck("diagnose", str(log))[0] == 1, encoding


def test_an_empty_log_is_called_so(envcheck: Run, tmp_path: Path) -> None:
    status, out, _ = envcheck("diagnose", written(tmp_path / "log", ""))
    assert status == 0
    assert "empty" in out


@pytest.mark.parametrize(
    "secret",
    [
        "--api-key sk-abcdefghijklmnopqrstuv",
        "api_key=['correct-horse-battery']",
        "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx",
        "Authorization: Bearer abcdefghijklmnop",
        "https://user:hunter22222@mirror.example.com/simple",
        "{'password': 'hunter22222'}",
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_no_form_of_answer_shows_a_secret(envcheck: Run, tmp_path: Path, secret: str, form: str) -> None:
    hidden = ("sk-abcdef", "correct-horse", "hf_abcdef", "abcdefghijklmnop", "hunter2")
    for line in (CAUSE.rstrip("\n") + " " + secret, f"flurble.FlurbleError: {secret}"):
        _, out, _ = envcheck("diagnose", "--format", form, written(tmp_path / "log", line + "\n"))
        assert not any(word in out for word in hidden), out
        assert "***" in out.replace("\\*", "*")


def test_markdown_names_nobody(envcheck: Run, tmp_path: Path) -> None:
    line = "ImportError: /home/maria/env/lib/python3.12/site-packages/vllm/_C.abi3.so: undefined symbol: _ZN3c10\n"
    out = envcheck("diagnose", "--format", "markdown", written(tmp_path / "log", line))[1]
    assert "maria" not in out
    assert "/home/USER/env" in out
