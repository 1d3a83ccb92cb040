"""Recording a visit: every answer again, nothing that identifies anybody, nothing outside of the folder."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envcheck.errors import EnvcheckError
from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system.port import DiskSpace, HttpAnswer
from envcheck.system.real import RealSystem
from envcheck.system.recording import RecordingSystem
from envcheck.system.rooted import RootedSystem


def written(folder: Path, files: Mapping[str, str | bytes], **tables: Any) -> RootedSystem:
    """A hand-made host of these files and JSON tables."""
    for path, content in files.items():
        place = folder / "rootfs" / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        (folder / f"{name}.json").write_text(json.dumps(table))
    return RootedSystem(folder)


def replay(visit: RecordingSystem, folder: Path) -> RootedSystem:
    visit.write(str(folder))
    return RootedSystem(folder)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Files of this machine's own, links among them."""
    root = tmp_path.resolve() / "machine"
    (root / "lib" / "cuda-12.8").mkdir(parents=True)
    (root / "lib" / "cuda-12.8" / "version.json").write_text('{"cuda": {"version": "12.8.1"}}')
    (root / "lib" / "cuda-12.8" / "empty").write_text("")
    (root / "lib" / "cuda").symlink_to("cuda-12.8")
    (root / "current").symlink_to(root / "lib" / "cuda")
    (root / "dangling").symlink_to("nowhere")
    return root


# ---- answers ----


def test_files_links_patterns_and_places_answer_as_they_did(machine: Path, tmp_path: Path) -> None:
    visit = RecordingSystem(RealSystem(env={"HOME": "/root"}))
    version = f"{machine}/current/version.json"
    paths = [
        version,
        f"{machine}/lib/cuda/version.json",
        f"{machine}/gone",
        f"{machine}/lib",
        f"{machine}/dangling",
        f"{version}/x",
        "/\0",
        "x",
    ]
    asked = (
        lambda system: [system.read(path) for path in paths],
        lambda system: [system.resolve(path) for path in paths],
        lambda system: [system.exists(path) for path in paths],
        lambda system: [system.glob(f"{machine}/{pattern}") for pattern in ("*", "lib/*", "current/*", "lib/cuda*/version.json", "none/*")],
        lambda system: system.exists(f"{machine}/lib/cuda-12.8/../cuda/empty"),
        lambda system: system.read(version, 7),
    )
    answers = [ask(visit) for ask in asked]
    assert answers == [ask(RealSystem()) for ask in asked]
    assert answers[0][0] == Found(b'{"cuda": {"version": "12.8.1"}}', version)
    again = replay(visit, tmp_path / "copy")
    assert [ask(again) for ask in asked] == answers
    assert (tmp_path / "copy" / "rootfs" / str(machine)[1:] / "current").is_symlink()
    for link in (tmp_path / "copy" / "rootfs").rglob("*"):
        if link.is_symlink():
            assert not link.readlink().is_absolute()
            assert link.resolve().is_relative_to(tmp_path / "copy" / "rootfs")


def test_what_was_refused_stays_refused_with_its_reason(tmp_path: Path) -> None:
    host = written(
        tmp_path / "host",
        {"/etc/os-release": "ID=x\n"},
        system={"unreadable": {"/dev/kmsg": "permission denied", "/srv": "stale file handle"}},
    )
    visit = RecordingSystem(host)
    asked = (
        lambda system: system.read("/dev/kmsg"),
        lambda system: system.exists("/dev/kmsg"),
        lambda system: system.resolve("/dev/kmsg"),
        lambda system: system.read("/srv/models/x"),
        lambda system: system.exists("/srv/models/x"),
        lambda system: system.exists("/srv"),
        lambda system: system.glob("/srv/*"),
        lambda system: system.disk("/"),
        lambda system: system.writable("/tmp"),
        lambda system: system.uname(),
        lambda system: system.libc(),
    )
    answers = [ask(visit) for ask in asked]
    assert answers[3] == Unreadable("stale file handle")
    again = replay(visit, tmp_path / "copy")
    assert [ask(again) for ask in asked] == answers


def test_commands_disk_leave_names_and_the_network_answer_as_they_did(tmp_path: Path) -> None:
    host = written(
        tmp_path / "host",
        {},
        commands={
            "nvidia-smi -L": {"stdout": "GPU 0: NVIDIA A10\n"},
            "dmesg": {"error": "permission"},
            "nvcc --version": {"error": "timeout"},
            "ldconfig -p": {"status": 1, "stderr": "ldconfig: no"},
        },
        system={
            "uname": ["Linux", "5.15.0-91-generic", "x86_64"],
            "libc": ["musl", ""],
            "disk": {"/": {"total_bytes": 10, "free_bytes": 5}, "/data": {"total_bytes": 99, "free_bytes": 9}},
            "writable": {"/": False, "/tmp": True},
            "which": {"nvcc": "/usr/local/cuda/bin/nvcc"},
        },
        http={
            "https://hub.example/ok?x=1": {"body": "fine", "url": "https://hub.example/final"},
            "https://hub.example/no": {"error": "refused"},
        },
        nvml={"status": "ok", "driver_version": "550.54.15", "gpus": [{"index": 0, "name": "NVIDIA A10"}]},
    )
    visit = RecordingSystem(host)
    words = (["nvidia-smi", "-L"], ["dmesg"], ["nvcc", "--version"], ["ldconfig", "-p"], ["rocm-smi"])
    asked = (
        lambda system: [system.run(argv) for argv in words],
        lambda system: [system.which(name) for name in ("nvcc", "uv")],
        lambda system: [system.disk(path) for path in ("/data/models", "/x/y", "/data")],
        lambda system: [system.writable(path) for path in ("/tmp/x", "/etc")],
        lambda system: (system.uname(), system.libc(), system.nvml(), system.libcuda_version()),
        lambda system: system.http_get("https://hub.example/no", {}),
    )
    answers = [ask(visit) for ask in asked]
    fetched = visit.http_get("https://hub.example/ok?x=1", {"Authorization": "Bearer hf_notarealtokenatall"})
    again = replay(visit, tmp_path / "copy")
    assert [ask(again) for ask in asked] == answers
    assert isinstance(fetched, Found)
    assert fetched.value.body == b"fine"
    assert again.http_get("https://hub.example/ok?x=1", {}) == Found(
        HttpAnswer(200, b"fine", "https://hub.example/final"), "https://hub.example/ok?***"
    )
    assert "hf_notarealtoken" not in (tmp_path / "copy" / "http.json").read_text()


class Odd(RealSystem):
    """Answers that no file tree can give."""

    def run(self, argv: Any, timeout: float = 2.0) -> Any:
        return Unreadable("its output does not end")

    def disk(self, path: str) -> Any:
        return Absent("no such file") if path == "/gone" else Found(DiskSpace(2, 1), "statvfs")

    def writable(self, path: str) -> Any:
        return Unreadable("no answer for 1 s")

    def libc(self) -> Any:
        return Found(("musl", "1.2.5"), "/lib/ld-musl-x86_64.so.1")

    def uname(self) -> Any:
        return Unreadable("refused")

    def exists(self, path: str) -> bool:
        return path == "/etc/ghost"

    def read(self, path: str, limit: int = 65536) -> Any:
        return Unreadable("input/output error")

    def glob(self, pattern: str, limit: int = 512) -> tuple[str, ...]:
        return ("/b", "/a")

    def http_get(self, url: str, headers: Any, timeout: float = 5.0, limit: int = 4 << 20, *, direct: bool = False) -> Any:
        return Found(HttpAnswer(404, b"\xff\xfe", url, True, 7), "hub.example")


def test_what_no_tree_can_say_is_kept_word_for_word(tmp_path: Path) -> None:
    visit = RecordingSystem(Odd(env={}))
    asked = (
        lambda system: system.run(["dmesg"], 1.5),
        lambda system: (system.disk("/gone"), system.disk("/x")),
        lambda system: system.writable("/x"),
        lambda system: (system.libc(), system.uname()),
        lambda system: (system.exists("/etc/ghost"), system.exists("/etc/other")),
        lambda system: system.read("/sys/x"),
        lambda system: system.glob("/*"),
        lambda system: system.http_get("https://hub.example/x", {}, limit=2),
    )
    answers = [ask(visit) for ask in asked]
    again = replay(visit, tmp_path / "copy")
    assert [ask(again) for ask in asked] == answers


def test_what_was_never_asked_is_not_known_to_be_absent(tmp_path: Path) -> None:
    visit = RecordingSystem(written(tmp_path / "host", {"/etc/os-release": "ID=x\n"}))
    assert visit.read("/etc/centos-release") == Absent("no such file")
    assert visit.run(["nvcc"]) == Absent("no such command")
    again = replay(visit, tmp_path / "copy")
    assert again.read("/etc/centos-release") == Absent("no such file")
    assert again.run(["nvcc"]) == Absent("no such command")
    assert again.read("/etc/os-release") == Unreadable("not recorded")
    assert again.resolve("/etc/debian_version") == Unreadable("not recorded")
    assert again.run(["dmesg"]) == Unreadable("not recorded")


def test_a_file_that_changes_is_recorded_as_first_seen(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("first")
    visit = RecordingSystem(RealSystem(env={}))
    assert visit.read(f"{tmp_path}/file") == Found(b"first", f"{tmp_path}/file")
    (tmp_path / "file").write_text("second")
    assert visit.read(f"{tmp_path}/file") == Found(b"first", f"{tmp_path}/file")
    (tmp_path / "file").unlink()
    assert replay(visit, tmp_path / "copy").read(f"{tmp_path}/file") == Found(b"first", f"{tmp_path}/file")


def test_only_variables_that_were_looked_at_are_written(tmp_path: Path) -> None:
    visit = RecordingSystem(RealSystem(env={"PATH": "/bin", "DIARY": "private", "CUDA_HOME": "/usr/local/cuda"}))
    assert "DIARY" in set(visit.env())
    assert visit.env().get("PATH") == "/bin"
    assert visit.env().get("NOT_SET") is None
    assert replay(visit, tmp_path / "copy").env() == {"PATH": "/bin"}


# ---- places to write to ----


def test_a_folder_that_cannot_be_renamed_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    inode = folder.stat().st_ino
    real = os.rename

    def rename(source: str, target: str) -> None:
        if str(folder) in (source, target):
            raise OSError(errno.EBUSY, "Device or resource busy")
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os.path, "ismount", lambda path: path == str(folder))
    host = written(tmp_path / "first", {"/etc/a": "1", "/etc/b": "2"})
    for path, force in (("/etc/a", False), ("/etc/b", True)):
        visit = RecordingSystem(host)
        kept = visit.read(path)
        visit.write(str(folder), force=force)
        assert RootedSystem(folder).read(path) == kept
    assert folder.stat().st_ino == inode
    assert RootedSystem(folder).read("/etc/a") == Unreadable("not recorded")
    assert {path.name for path in folder.iterdir()} <= {"rootfs", "env.json", "commands.json", "nvml.json", "http.json", "system.json"}


def test_a_full_disk_leaves_an_empty_folder_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    visit = RecordingSystem(written(tmp_path / "first", {"/etc/a": "1"}))
    visit.read("/etc/a")

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("envcheck.system.recording_files._json", full)
    with pytest.raises(EnvcheckError):
        visit.write(str(folder))
    assert list(folder.iterdir()) == []


def test_where_the_folder_around_us_is_gone_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = written(tmp_path / "first", {"/etc/a": "1"})
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(EnvcheckError) as error:
        RecordingSystem(host).write("out")
    assert error.value.text.key == "error.cannot-write"
