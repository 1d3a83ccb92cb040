from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system import within as within_module
from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import CommandResult, DiskSpace, NvmlReport, System
from envcheck.system.real import RealSystem
from envcheck.system.within import within


def test_it_is_a_system() -> None:
    system: System = RealSystem()
    assert system.env() == dict(os.environ)


def test_the_environment_given_is_the_environment_told() -> None:
    assert RealSystem(env={"A": "1"}).env() == {"A": "1"}


def test_reading_existing_and_resolving(tmp_path: Path) -> None:
    system = RealSystem()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("gone")
    assert system.read(f"{tmp_path}/link") == Found(b"x", f"{tmp_path}/link")
    assert system.resolve(f"{tmp_path}/link") == Found(f"{tmp_path}/file", f"{tmp_path}/link")
    assert system.exists(f"{tmp_path}/link")
    assert not system.exists(f"{tmp_path}/dangling")
    assert isinstance(system.resolve(f"{tmp_path}/dangling"), Absent)


def test_what_is_no_path_does_not_raise() -> None:
    system = RealSystem()
    assert not system.exists("\0")
    assert system.resolve("\0") == Unreadable("not a path")
    assert system.disk("/\0") == Unreadable("not a path")


def test_a_loop_of_links_cannot_be_resolved(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert isinstance(RealSystem().resolve(f"{tmp_path}/a"), Unreadable)


def test_a_pattern(tmp_path: Path) -> None:
    for name in ("cuda-12.1", "cuda-12.9", "other"):
        (tmp_path / name).mkdir()
    assert RealSystem().glob(f"{tmp_path}/cuda-*") == (f"{tmp_path}/cuda-12.1", f"{tmp_path}/cuda-12.9")


@pytest.mark.usefixtures("processes")
def test_commands_are_looked_for_on_the_path_given(tmp_path: Path) -> None:
    tool = tmp_path / "nvcc"
    tool.write_text("#!/bin/sh\necho $1 $CUDA_HOME\n")
    tool.chmod(0o755)
    system = RealSystem(env={"PATH": str(tmp_path), "CUDA_HOME": "/opt/cuda"})
    assert system.which("nvcc") == str(tool)
    assert system.which("sh") is None
    assert system.run(["nvcc", "--version"]) == Found(CommandResult(0, "--version /opt/cuda\n", ""), "nvcc")
    assert system.run(["nvidia-smi"]) == Absent("no such command")


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A machine where everything that may hang does, on a clock of its own; the list holds how long each was waited for."""
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(round(seconds, 3))

    def hang(argv: object, env: object, timeout: float) -> Unreadable:
        wait(timeout)
        return Unreadable("hung")

    def stall(stall_s: float, total_s: float) -> NvmlVisit:
        wait(stall_s)
        return NvmlVisit(NvmlReport("Timeout"), Unreadable("did not answer in time"))

    monkeypatch.setattr("envcheck.system.command.run", hang)
    monkeypatch.setattr("envcheck.system.real.visit", stall)
    monkeypatch.setattr(within_module, "within", lambda seconds, work: wait(seconds))
    monkeypatch.setattr("envcheck.system.real.time.monotonic", lambda: sum(waits))
    return waits


def test_commands_that_hang_share_their_time(hanging: list[float]) -> None:
    system = RealSystem()
    for name in ("python3", "nvcc", "docker", "gcc"):
        system.run([name])
    assert hanging == [2.0, 0.5, 0.1, 0.1]


def test_driver_file_server_and_commands_that_hang_together_are_left_within_five_seconds(hanging: list[float]) -> None:
    system = RealSystem()
    for name in ("python3", "nvcc", "docker", "nvidia-ctk"):
        system.run([name])
    for path in ("/home/a/.cache/huggingface", "/home/a/.cache/vllm", "/home/a/.cache/uv"):
        system.disk(path)
        system.writable(path)
    system.nvml()
    for name in ("modinfo", "dmesg", "mokutil", "nvidia-smi"):
        system.run([name])
    assert sum(hanging) < 4.9
    assert max(hanging[4:-5]) <= 0.05
    assert hanging[-5] >= 1.5


def test_a_driver_that_hangs_alone_is_waited_for_and_so_is_the_next_command(hanging: list[float]) -> None:
    system = RealSystem()
    system.nvml()
    system.libcuda_version()
    system.run(["nvidia-smi"])
    assert hanging == [2.0, 2.0]


def test_disk_space_is_that_of_the_nearest_parent(tmp_path: Path) -> None:
    fact = RealSystem().disk(f"{tmp_path}/not/yet/there")
    assert isinstance(fact, Found)
    assert fact.source == str(tmp_path)
    said = os.statvfs(tmp_path)
    assert fact.value.total_bytes == said.f_blocks * said.f_frsize
    assert 0 < fact.value.free_bytes <= fact.value.total_bytes
    assert isinstance(fact.value, DiskSpace)


def test_a_file_server_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(within_module, "within", lambda seconds, work: None)
    assert RealSystem().disk("/") == Unreadable("no answer for 1 s")


def test_within_gives_the_result_or_nothing_or_the_failure() -> None:
    import threading

    never = threading.Event()
    assert within(5, lambda: 42) == 42
    assert within(0.05, lambda: never.wait(2)) is None
    never.set()
    with pytest.raises(FileNotFoundError):
        within(5, lambda: os.statvfs("/nowhere/at/all"))


def test_kernel_and_machine() -> None:
    assert RealSystem().uname() == Found((platform.system(), platform.release(), platform.machine()), "uname")


def test_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", lambda name: "glibc 2.35")
    assert RealSystem().libc() == Found(("glibc", "2.35"), "confstr")


def no_such_name(name: str) -> str:
    raise ValueError("unrecognized configuration name")


class MuslHost(RealSystem):
    """Alpine Linux 3.20, whose loader writes this to standard error and exits with 1."""

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        return ("/lib/ld-musl-x86_64.so.1",)

    def run(self, argv: object, timeout: float = 2.0) -> Found[CommandResult]:
        said = "musl libc (x86_64)\nVersion 1.2.5\nDynamic Program Loader\nUsage: /lib/ld-musl-x86_64.so.1 [options] [--] pathname [args]\n"
        return Found(CommandResult(1, "", said), "loader")


def test_musl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", no_such_name)
    assert MuslHost().libc() == Found(("musl", "1.2.5"), "/lib/ld-musl-x86_64.so.1")


def test_a_c_library_of_neither_kind_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", no_such_name)
    monkeypatch.setattr(RealSystem, "glob", lambda self, pattern, limit=512: ())
    assert RealSystem().libc() == Unreadable("neither glibc nor musl")


@pytest.mark.usefixtures("processes")
def test_importing_the_real_system_loads_nothing_slow() -> None:
    # What msgspec brings along (on Python 3.10, subprocess) is its own affair.
    program = (
        "import sys, msgspec; before = set(sys.modules); import envcheck.system.real; "
        "slow = {'ctypes', 'pynvml', 'requests', 'subprocess', 'threading', 'urllib', 'shlex', 'importlib.metadata'}; "
        "print(*sorted(slow & (set(sys.modules) - before)))"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": root})
    assert done.stdout.split() == []


def test_leave_to_write_is_that_of_the_nearest_parent_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def access(path: str, mode: int, **_: bool) -> bool:
        asked.append(path)
        return path == str(tmp_path)

    monkeypatch.setattr(os, "access", access)
    system = RealSystem()
    assert system.writable(f"{tmp_path}/cache/of/models") == Found(True, str(tmp_path))
    (tmp_path / "closed").mkdir()
    assert system.writable(f"{tmp_path}/closed/x") == Found(False, f"{tmp_path}/closed")
    assert asked == [str(tmp_path), f"{tmp_path}/closed"]
    assert [path.name for path in tmp_path.iterdir()] == ["closed"]
    assert isinstance(system.writable("/x\0y"), Unreadable)
