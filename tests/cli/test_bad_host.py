"""`--host` with things that are no host: one clear sentence, the right status, little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import InputError
from envcheck.model.host import SCHEMA
from envcheck.readers.host_file import parse_host

Run = Callable[..., tuple[int, str, str]]
Process = Callable[..., subprocess.CompletedProcess[bytes]]
NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
KEYS = st.sampled_from(["os", "gpus", "driver", "packages", "memory", "schema", "host", "cloud", "environment", "provenance", "x"])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"driver": {"version": ', "not valid JSON"),
        (b"nvidia-smi says hello", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"[1, 2]", "array"),
        (b'{"driver": {"version": 535}}', "$.driver.version"),
        (b'{"gpus": [{"name": "A10"}, {"memory_mib": "many"}]}', "$.gpus[1].memory_mib"),
        (b"\x7fELF\x02\x01\x00\x00", "binary"),
        (b'{"schema": "envcheck.host/2"}', "envcheck.host/2"),
        (b'{"schema": "envcheck.plan/1", "stack": null}', "envcheck.plan/1"),
        (b'{"name": "left-pad", "version": "1.0"}', "no fact"),
        (b'{"schema": "envcheck.check/1", "verdict": "ready"}', "no fact"),
        (b'{"schema": "envcheck.check/1", "host": 7}', "int"),
        (b"{" + b'"os":{' * 50_000, "not valid JSON"),
        (b'{"os": {"name": "\xff"}}', "UTF-8"),
        (b'{"driver": {"version": "1"}}' + b" " * (5 << 20), "4 MiB"),
    ],
)
def test_no_host_is_status_4_and_one_sentence(envcheck: Run, tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "host.json"
    path.write_bytes(data)
    status, out, err = envcheck("--host", str(path))
    assert (status, out) == (4, "")
    assert said in err
    assert err.count("\n") == 1
    assert len(err) < 1000


def test_a_file_of_100_mib_takes_little_memory(processes: None, tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    script = f"ulimit -v 400000; exec {sys.executable} -m envcheck --host {path}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 4
    assert "4 MiB" in done.stderr


def test_a_missing_file_is_usage_and_an_unreadable_one_unknown(envcheck: Run, tmp_path: Path) -> None:
    status, _, err = envcheck("--host", str(tmp_path / "gone.json"))
    assert status == 2
    assert "gone.json" in err
    assert envcheck("--host", "a\0b")[0] in (2, 3)
    assert envcheck("--host", "/proc/self/mem")[0] == 3


def test_a_folder_that_is_no_recording_is_status_4(envcheck: Run, tmp_path: Path) -> None:
    status, _, err = envcheck("--host", str(tmp_path))
    assert status == 4
    assert str(tmp_path) in err


def test_a_host_comes_by_standard_input(process: Process) -> None:
    done = process("--host", "-", "-q", input=b'{"gpus": [], "driver": null}')
    assert done.returncode == 1
    assert done.stdout.startswith(b"BLOCKED")


def test_a_host_comes_by_process_substitution(processes: None, a10: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    script = f'"{sys.executable}" -m envcheck -q --host <(cat "{a10}")'
    assert subprocess.run(["bash", "-c", script], env=environment, capture_output=True, check=False).returncode == 0


def test_byte_order_marks_of_windows_shells_are_honoured() -> None:
    text = json.dumps({"driver": {"version": "535.161.08"}})
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        host = parse_host(text.encode(encoding), "x")
        assert host.driver
        assert host.driver.version == "535.161.08"


def test_unknown_keys_are_let_pass_and_null_is_not_missing() -> None:
    host = parse_host(b'{"schema": "envcheck.host/1", "driver": null, "news": {"a": [1]}, "os": {"name": "X", "future": 1}}', "x")
    assert host.driver is None
    assert host.os
    assert host.os.name == "X"


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_host_or_an_input_error(data: bytes) -> None:
    with suppress(InputError):
        parse_host(data, "x")


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_arbitrary_documents_are_a_host_or_an_input_error(document: dict[str, object]) -> None:
    document["schema"] = SCHEMA
    with suppress(InputError):
        assert parse_host(json.dumps(document).encode(), "x").schema == SCHEMA
