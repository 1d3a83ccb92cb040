from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system.command import KEEP, run
from envcheck.system.port import CommandResult

pytestmark = pytest.mark.usefixtures("processes")

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "zh_CN.UTF-8"}


def shell(script: str, timeout: float = 5.0) -> CommandResult:
    fact = run(["sh", "-c", script], ENV, timeout)
    assert isinstance(fact, Found), fact
    return fact.value


def is_running(pid: int) -> bool:
    """A killed orphan may stay a zombie until whoever adopted it looks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def dies_soon(pid: int) -> bool:
    until = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def test_status_and_both_streams() -> None:
    assert shell("echo out; echo err >&2; exit 7") == CommandResult(7, "out\n", "err\n")


def test_a_signal_is_a_negative_status() -> None:
    assert shell("kill -9 $$").status == -9


def test_arguments_are_not_read_by_a_shell() -> None:
    fact = run(["echo", "$(id); `id` > /tmp/x"], ENV, 5)
    assert isinstance(fact, Found)
    assert fact.value.stdout == "$(id); `id` > /tmp/x\n"


def test_the_language_is_c_and_the_input_empty() -> None:
    assert shell("echo $LC_ALL; cat").stdout == "C\n"


def test_a_missing_command_is_absent() -> None:
    assert run(["nvidia-smi-that-is-not-there"], ENV, 5) == Absent("no such command")
    assert run(["/usr/bin/nvidia-smi-that-is-not-there"], ENV, 5) == Absent("no such command")


def test_a_script_without_its_interpreter_is_not_called_missing(tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text("#!/gone/python\n")
    script.chmod(0o755)
    assert run([str(script)], ENV, 5) == Unreadable("its interpreter is missing")
    assert run(["tool"], {"PATH": str(tmp_path)}, 5) == Unreadable("its interpreter is missing")


def test_a_file_that_may_not_be_executed_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("x")
    assert run([str(tmp_path / "tool")], ENV, 5) == Unreadable("permission denied")


def test_a_file_that_is_no_program_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"\x00\x01\x02")
    (tmp_path / "tool").chmod(0o755)
    assert isinstance(run([str(tmp_path / "tool")], ENV, 5), Unreadable)


@pytest.mark.parametrize("argv", [[], ["a\0b"], ["echo", "a\0b"]])
def test_what_is_no_command_is_unreadable(argv: list[str]) -> None:
    assert run(argv, ENV, 5) == Unreadable("not a command")


def test_a_hanging_command_is_killed_with_its_children(tmp_path: Path) -> None:
    start = time.monotonic()
    fact = run(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; wait"], ENV, 0.4)
    assert fact == Unreadable("timed out after 0.4 s")
    assert time.monotonic() - start < 3
    assert dies_soon(int((tmp_path / "pid").read_text()))


def test_a_grandchild_that_holds_the_pipe_does_not_hold_us() -> None:
    start = time.monotonic()
    result = shell("sleep 60 & echo $!; exit 3", timeout=20)
    assert result.status == 3
    assert time.monotonic() - start < 5
    assert dies_soon(int(result.stdout))


def test_a_grandchild_that_left_the_group_does_not_hold_us_either() -> None:
    start = time.monotonic()
    result = shell("setsid sleep 8 & echo here; exit 0", timeout=20)
    assert result == CommandResult(0, "here\n", "")
    assert time.monotonic() - start < 5


def test_output_is_cut_but_the_command_may_finish() -> None:
    program = "import sys; sys.stdout.write('x' * 300_000); sys.stderr.write('y' * 300_000); sys.exit(5)"
    fact = run([sys.executable, "-c", program], ENV, 10)
    assert fact == Found(CommandResult(5, "x" * KEEP, "y" * KEEP), sys.executable)


def test_output_that_does_not_end_is_given_up_before_the_time_limit() -> None:
    start = time.monotonic()
    assert run(["yes"], ENV, 30) == Unreadable("its output does not end")
    assert time.monotonic() - start < 10


def test_a_command_that_closes_its_streams_is_still_waited_for() -> None:
    assert shell("exec >&- 2>&-; sleep 0.2; exit 4").status == 4


def test_a_command_that_closes_its_streams_and_hangs_is_killed() -> None:
    start = time.monotonic()
    assert run(["sh", "-c", "exec >&- 2>&-; sleep 60"], ENV, 0.3) == Unreadable("timed out after 0.3 s")
    assert time.monotonic() - start < 3


def test_binary_output_is_decoded_with_replacement() -> None:
    assert shell(r"printf 'a\377b'").stdout == "a�b"


def test_everything_written_right_before_the_end_arrives() -> None:
    assert shell("head -c 50000 /dev/zero | tr '\\0' 'z'").stdout == "z" * 50_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_us_ends_the_command_too(tmp_path: Path, number: signal.Signals) -> None:
    # Under nohup, a child inherits that the signal is ignored.
    awake = f"import signal; signal.signal({int(number)}, signal.SIG_DFL)"
    hanging = ["sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"]
    program = f"{awake}; from envcheck.system.command import run; run({hanging!r}, {ENV!r}, 50)"
    ours = subprocess.Popen([sys.executable, "-c", program], env={**ENV, "PYTHONPATH": str(Path(__file__).parents[2])})
    until = time.monotonic() + 20
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) and time.monotonic() < until:
        time.sleep(0.01)
    ours.send_signal(number)
    assert ours.wait(20) == -number
    assert dies_soon(int((tmp_path / "pid").read_text()))


def test_signals_mean_afterwards_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    assert shell("true").status == 0
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before
