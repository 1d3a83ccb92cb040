"""The frame of the command: help, version, languages, broken input, broken outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envcheck import __version__
from envcheck.cli.group import COMMANDS, cli

Run = Callable[..., tuple[int, str, str]]
Process = Callable[..., subprocess.CompletedProcess[bytes]]


def test_version_names_program_facts_and_place(envcheck: Run) -> None:
    status, out, _ = envcheck("--version")
    assert status == 0
    first, second = out.splitlines()
    assert first == f"envcheck {__version__}"
    assert second.startswith("matrix 20")
    assert second.endswith("matrices)")


def test_version_is_had_even_without_a_matrix(envcheck: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENVCHECK_MATRIX_DIR", str(tmp_path))
    status, out, _ = envcheck("--version")
    assert status == 0
    assert __version__ in out
    assert str(tmp_path) in out


def test_help_lists_every_command_and_each_has_help_of_80_columns(envcheck: Run) -> None:
    _, out, _ = envcheck("--help")
    assert all(f"\n  {name} " in out for name in COMMANDS)
    for name in COMMANDS:
        status, text, _ = envcheck(name, "--help")
        assert status == 0
        assert max(map(len, text.splitlines())) <= 80, name


def test_the_table_of_commands_is_what_the_modules_hold() -> None:
    import click

    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        assert command.name == name


def test_a_misspelt_command_is_a_usage_error_with_the_nearest(envcheck: Run) -> None:
    status, out, err = envcheck("chekc")
    assert (status, out) == (2, "")
    assert "check" in err


def test_an_unknown_option_is_a_usage_error(envcheck: Run) -> None:
    status, _, err = envcheck("--no-such-option")
    assert status == 2
    assert "no-such-option" in err


def test_without_a_command_options_are_those_of_check(envcheck: Run, a10: str) -> None:
    assert envcheck("--host", a10, "--json") == envcheck("check", "--host", a10, "--json")


def test_language_by_option_variable_and_locale(envcheck: Run, a10: str, monkeypatch: pytest.MonkeyPatch) -> None:
    english = envcheck("--host", a10, "-q")[1]
    chinese = envcheck("--host", a10, "-q", "--lang", "zh")[1]
    assert "vLLM" in english
    assert english.isascii()
    assert "可" in chinese
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert envcheck("--host", a10, "-q")[1] == chinese
    monkeypatch.setenv("ENVCHECK_LANG", "en")
    assert envcheck("--host", a10, "-q")[1] == english


def test_errors_speak_the_language_too(envcheck: Run) -> None:
    _, _, err = envcheck("explain", "no-such-code", "--lang", "zh")
    assert err.startswith("envcheck: ")
    assert "没有" in err


def test_a_fault_of_ours_is_one_sentence_and_a_trace_only_when_asked(envcheck: Run, a10: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import envcheck.cli.answer as module

    def broken(*_: object) -> None:
        raise RuntimeError("the dog ate it")

    monkeypatch.setattr(module, "answer", broken)
    status, out, err = envcheck("--host", a10)
    assert (status, out) == (5, "")
    assert err.count("\n") == 1
    assert "the dog ate it" in err
    assert "Traceback" in envcheck("--host", a10, "-v")[2]


def test_an_interrupt_is_130(envcheck: Run, a10: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import envcheck.cli.answer as module

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "answer", interrupted)
    assert envcheck("--host", a10)[0] == 130


def test_a_reader_that_goes_away_is_no_error(processes: None, a10: str) -> None:
    script = f'"{sys.executable}" -m envcheck --host "{a10}" -v; echo "status $?" >&2'
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(["bash", "-c", f"({script}) | true"], capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == "status 0\n"


def test_a_full_disk_is_said(process: Process, a10: str) -> None:
    with open("/dev/full", "wb") as full:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-m", "envcheck", "--host", a10]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, check=False)
    assert done.returncode == 5
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_closed_outputs_do_no_harm(processes: None, a10: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    script = f'"{sys.executable}" -m envcheck --host "{a10}" >&- 2>&-'
    assert subprocess.run(["bash", "-c", script], env=environment, check=False).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "latin-1"])
def test_a_narrow_locale_does_not_break_the_output(process: Process, a10: str, encoding: str) -> None:
    for words in (["--host", a10, "--lang", "zh"], ["explain", "no-gpu", "--lang", "zh"], ["--host", a10]):
        done = process(*words, env={"PYTHONIOENCODING": encoding})
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode(encoding)


def test_chinese_by_locale_falls_back_to_english_where_it_cannot_be_written(process: Process, a10: str) -> None:
    done = process("--host", a10, "-q", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "zh_CN.UTF-8"})
    assert b"?" not in done.stdout
    assert done.stdout.isascii()


def test_json_is_utf_8_whatever_the_locale(process: Process, a10: str) -> None:
    done = process("--host", a10, "--json", "--lang", "zh", env={"PYTHONIOENCODING": "ascii"})
    assert any("驱动" in finding["detail"] for finding in json.loads(done.stdout.decode("utf-8"))["findings"])


def test_no_colour_without_a_terminal_and_with_no_color(process: Process, processes: None, a10: str) -> None:
    assert b"\x1b[" not in process("--host", a10).stdout
    coloured, plain = in_terminal(a10, {}), in_terminal(a10, {"NO_COLOR": "1"})
    assert b"\x1b[" in coloured
    assert b"\x1b[" not in plain
    assert b"vLLM" in plain


def in_terminal(a10: str, environment: dict[str, str]) -> bytes:
    """What the command writes to a terminal of its own."""
    import pty

    ours, theirs = pty.openpty()
    whole = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm", **environment}
    done = subprocess.Popen([sys.executable, "-m", "envcheck", "-q", "--host", a10], stdout=theirs, stderr=theirs, env=whole)
    os.close(theirs)
    out = b""
    try:
        while chunk := os.read(ours, 4096):
            out += chunk
    except OSError:  # the terminal closed with its last writer
        pass
    done.wait()
    os.close(ours)
    return out


def test_hostile_arguments_reach_the_message_as_text(envcheck: Run) -> None:
    status, _, err = envcheck("explain", "\x1b[2J$(reboot)\udcff")
    assert status == 2
    assert "\x1b" not in err


EMPTY = [
    ["--host", ""],
    ["--vllm", " "],
    ["--model", ""],
    ["--matrix-dir", ""],
    ["plan", "-o", ""],
    ["size", "m", "--vllm="],
    ["--python="],
    ["size", "m", "--gpu", ""],
]


@pytest.mark.parametrize("words", EMPTY)
def test_an_empty_value_is_a_usage_error_not_another_question(envcheck: Run, words: list[str]) -> None:
    status, out, err = envcheck(*words)
    assert (status, out) == (2, "")
    assert "is empty" in err


@pytest.mark.usefixtures("processes")
def test_a_matrix_folder_of_nobody_or_of_no_name_is_said(envcheck: Run) -> None:
    for folder in ("~no-such-user/x", "a" * 5000):
        status, out, err = envcheck("--matrix-dir", folder)
        assert (status, out) == (4, "")
        assert "matrix.json" in err


def shell(script: str) -> subprocess.CompletedProcess[bytes]:
    """A shell line in which `$E` is the command."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "E": f"{sys.executable} -m envcheck"}
    return subprocess.run(["bash", "-c", script], capture_output=True, env=environment, check=False, timeout=60)


@pytest.mark.parametrize("words", ["batch", "--host -"])
def test_a_closed_input_is_said(processes: None, words: str) -> None:
    done = shell(f"$E {words} <&-")
    assert done.returncode == 3
    assert done.stderr == b"envcheck: standard input is closed. Name a file instead of `-`.\n"


def test_help_that_cannot_be_written_is_no_fault_of_ours(processes: None) -> None:
    done = shell("$E check --help > /dev/full")
    assert done.returncode == 5
    assert b"No space left" in done.stderr
    assert b"bug" not in done.stderr
    assert shell("$E --help | true; exit ${PIPESTATUS[0]}").returncode == 0


def test_a_usage_error_that_cannot_be_told_is_one_all_the_same(processes: None) -> None:
    assert shell("$E --no-such-option > /dev/full 2> /dev/full").returncode == 2


def test_a_folder_removed_under_us_does_no_harm(processes: None, a10: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    done = shell(f"mkdir {gone} && cd {gone} && rmdir {gone} && $E --host {a10} --offline --model Qwen/Qwen2.5-7B-Instruct")
    assert done.returncode == 0, done.stderr
