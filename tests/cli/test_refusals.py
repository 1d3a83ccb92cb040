"""What a refusal of a mistyped argument or of a place that cannot be written says, and its exit status."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Protocol

import pytest

from envcheck.cli.serve_args import parse_serve_args
from envcheck.errors import EnvcheckError, ExitCode, UsageError, cannot_write
from envcheck.matrix.load import load

MATRIX = load()
MODEL = "Qwen/Qwen2.5-7B-Instruct"
LOG = """INFO 03-02 10:00:00 [core.py:96] Initializing a V1 LLM engine (v0.19.0) with config: model='/models/x', dtype=torch.bfloat16
INFO [gpu_model_runner.py:4735] Model loading took 14.99 GiB memory and 14.429680 seconds
"""


class Run(Protocol):
    def __call__(self, *words: str) -> tuple[int, str, str]: ...


def test_a_number_is_shown_in_the_unit_of_its_argument(envcheck: Run) -> None:
    status, _, err = envcheck("size", MODEL, "--gpu", "NVIDIA A10", "--offline", "--kv-cache-memory-bytes", "4G")
    assert status == ExitCode.USAGE
    assert "`--kv-cache-memory-bytes 4294967296`" in err
    assert "0.9" not in err


@pytest.mark.parametrize("flag", ["--max-model-len", "--gpu-memory-utilization", "--max-num-seqs", "--swap-space"])
def test_a_missing_value_is_told_as_missing(envcheck: Run, flag: str) -> None:
    status, _, err = envcheck("size", MODEL, "--gpu", "NVIDIA A10", "--offline", flag)
    assert status == ExitCode.USAGE
    assert f"`{flag}` needs a value" in err
    assert "True" not in err


def test_behind_the_dashes_stand_arguments_of_vllm_even_where_we_have_one_of_that_name() -> None:
    own = ("--host", "--json", "--gpu")
    found = parse_serve_args(["--host", "0.0.0.0", "--port", "9000"], own, lambda: MATRIX.flags)
    assert found == {"host": "0.0.0.0", "port": 9000}
    with pytest.raises(UsageError) as caught:
        parse_serve_args(["--json"], own, lambda: MATRIX.flags)
    assert caught.value.text.key == "error.option-behind"
    with pytest.raises(UsageError) as caught:
        parse_serve_args(["--verbos"], ("--verbose", "--gpu"), lambda: MATRIX.flags)
    assert caught.value.text.key == "error.option-near"


def test_a_place_that_cannot_be_written_is_a_usage_error(envcheck: Run, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG, encoding="utf-8")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    inside = str(tmp_path / "file" / "x")
    assert envcheck("sheet", "-o", inside)[0] == ExitCode.USAGE
    assert envcheck("learn", str(log), "--output", inside)[0] == ExitCode.USAGE


def test_a_full_disk_is_no_slip_of_the_user() -> None:
    full = cannot_write("/x", OSError(errno.ENOSPC, "No space left on device"))
    assert isinstance(full, EnvcheckError)
    assert full.exit_code == ExitCode.INTERNAL
    assert cannot_write("/x", OSError(errno.ENOENT, "No such file or directory")).exit_code == ExitCode.USAGE


@pytest.mark.parametrize(("gpu", "said"), [("Foo", "no GPU named `Foo`"), ("A10 x2", "several GPUs"), ("A10 x-1", "is no number of GPUs")])
def test_a_record_is_of_one_known_gpu(envcheck: Run, tmp_path: Path, gpu: str, said: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG, encoding="utf-8")
    status, _, err = envcheck("learn", str(log), "--gpu", gpu)
    assert status == ExitCode.USAGE
    assert said in err


def test_a_plan_says_what_the_release_calls_otherwise(envcheck: Run) -> None:
    host = str(Path(__file__).parents[1] / "hosts" / "azure-ubuntu2204-h100mig-ready")
    words = ("plan", "--offline", "--host", host, "--model", MODEL, "--json", "--vllm")
    for vllm in ("0.19.1", "0.33.0"):
        _, out, _ = envcheck(*words, vllm, "--", "--disable-prefix-caching")
        document = json.loads(out)
        assert "--no-enable-prefix-caching" in [setting["flag"] for setting in document["serve"]["settings"]]
        assert sum("`--disable-prefix-caching`" in note for note in document["notes"]) == 1
