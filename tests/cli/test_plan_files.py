"""The files of a plan: what was changed by hand stays, and folders with odd names are written to and told of safely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

Run = Any
WORDS = ("plan", "--model", "Qwen/Qwen2.5-7B-Instruct", "--offline", "--lang", "en")


def test_a_script_changed_by_hand_stays(envcheck: Run, a10: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = (*WORDS, "--host", a10, "-o", str(folder))
    assert envcheck(*words)[0] == 0
    assert envcheck(*words)[0] == 0  # untouched, it is written anew
    script = folder / "serve.sh"
    mine = script.read_text(encoding="utf-8").replace("--max-model-len 32768", "--max-model-len 4096")
    for edited in (mine, script.read_text(encoding="utf-8") + "echo done\n"):
        script.write_text(edited, encoding="utf-8")
        status, _, errors = envcheck(*words)
        assert (status, "changed by hand" in errors) == (2, True)
        assert script.read_text(encoding="utf-8") == edited
    assert envcheck(*words, "--force")[0] == 0
    assert "echo done" not in script.read_text(encoding="utf-8")


def test_a_folder_with_a_leading_dash_is_named_as_a_path(envcheck: Run, a10: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = envcheck(*WORDS, "--host", a10, "-o", "-x")[1]
    assert (tmp_path / "-x" / "serve.sh").exists()
    assert "bash ./-x/serve.sh" in out
    assert "bash -x" not in out


def test_an_api_key_is_never_written_down(envcheck: Run, a10: str, tmp_path: Path) -> None:
    status, out, errors = envcheck(*WORDS, "--host", a10, "--api-key", "sekret", "-o", str(tmp_path))
    assert status == 0
    assert "sekret" not in out + errors + "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert "VLLM_API_KEY" in (tmp_path / "serve.sh").read_text(encoding="utf-8")
    assert "sekret" not in envcheck(*WORDS, "--host", a10, "--api-key", "sekret", "--json")[1]
