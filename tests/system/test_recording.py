"""Recording a visit: every answer again, nothing that identifies anybody, nothing outside of the folder."""

from __future__ import annotations

import json
import os
import stat
import string
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envcheck.errors import EnvcheckError, UsageError
from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system import recording_tree as module
from envcheck.system.port import CommandResult, DiskSpace, HttpAnswer, NvmlGpu, NvmlReport
from envcheck.system.real import RealSystem
from envcheck.system.recording import RecordingSystem
from envcheck.system.redact_names import is_reserved
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


# ---- redaction ----

NAME = st.text(string.ascii_lowercase, min_size=5, max_size=12).filter(lambda name: not is_reserved(name))
KEY = st.text(string.ascii_letters + string.digits, min_size=24, max_size=32)
ADDRESS = st.tuples(st.integers(11, 90), *[st.integers(0, 255)] * 3).map(lambda parts: ".".join(map(str, parts)))


@given(user=NAME, box=NAME, key=KEY, address=ADDRESS, uuid=st.uuids().map(str))
@settings(max_examples=20, deadline=None)
def test_nothing_planted_is_in_a_byte_or_a_name_of_the_recording(user: str, box: str, key: str, address: str, uuid: str) -> None:
    assume(user not in box and box not in user)
    home = f"/home/{user}"
    with tempfile.TemporaryDirectory() as folder:
        host = written(
            Path(folder) / "host",
            {
                "/etc/hostname": f"{box}.corp.example\n",
                "/etc/passwd": f"{user}:x:1000:1000::{home}:/bin/bash\n",
                "/proc/1/environ": f"HF_TOKEN=hf_{key}\0OWNER={user}\0MASTER_ADDR={address}\0",
                f"{home}/.cache/{user}-{box}/note": f"{user} at {box}, {address}, sk-{key}, GPU-{uuid}\n",
                f"/data/{user}/x": b"\x7fELF\0" + f"/build/{user}/{box}\0sk-{key}\0".encode(),
            },
            env={
                "HOME": home,
                "USER": user,
                "HOSTNAME": box,
                "API_KEY": key,
                "MASTER_ADDR": address,
                "CUDA_VISIBLE_DEVICES": f"GPU-{uuid}",
            },
            commands={f"ls /data/{user}": {"stdout": f"{user} {box}\n{address}\n", "stderr": f"password={key}"}},
            nvml={
                "status": "ok",
                "gpus": [{"index": 0, "uuid": f"GPU-{uuid}", "name": f"vGPU of {user}"}],
                "library_path": f"{home}/lib.so",
            },
            system={
                "which": {"tool": f"{home}/bin/tool"},
                "disk": {home: {"total_bytes": 1, "free_bytes": 1}},
                "unreadable": {f"/srv/{user}": "permission denied"},
            },
            http={f"http://{box}:80/x": {"body": f"{user} {key}? token={key}"}},
        )
        visit = RecordingSystem(host)
        dict(visit.env())
        for path in (
            "/etc/hostname",
            "/etc/passwd",
            "/proc/1/environ",
            f"{home}/.cache/{user}-{box}/note",
            f"/data/{user}/x",
            f"/srv/{user}",
            f"{home}/none",
        ):
            visit.read(path)
        visit.glob(f"{home}/.cache/*")
        visit.resolve(f"/data/{user}/x")
        visit.run(["ls", f"/data/{user}"])
        visit.which("tool")
        visit.disk(f"{home}/models")
        visit.nvml()
        visit.http_get(f"http://{box}:80/x", {})
        recorded = visit.write(f"{folder}/copy")
        everything = [str(path.relative_to(folder)) for path in Path(folder, "copy").rglob("*")]
        everything += [str(path.readlink()) for path in Path(folder, "copy").rglob("*") if path.is_symlink()]
        everything += [path.read_bytes().decode("utf-8", "replace") for path in Path(folder, "copy").rglob("*") if path.is_file()]
        for secret in (user, box, key, address, uuid):
            assert [text for text in everything if secret in text] == []
        assert recorded.replaced["users"] == 1
        again = RootedSystem(f"{folder}/copy")
        zeros = "00000000-0000-0000-0000-000000000001"
        assert again.env()["CUDA_VISIBLE_DEVICES"] == f"GPU-{zeros}" == again.nvml().gpus[0].uuid
        assert again.read("/data/user1/x") != Absent("no such file")
        assert again.run(["ls", "/data/user1"]) == Found(CommandResult(0, "user1 host1\n192.0.2.1\n", "password=***"), "ls")


# ---- bounds and the folder ----


def test_a_recording_is_bounded_and_says_what_it_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (module.MAX_FILES, module.MAX_BYTES) == (4096, 32 << 20)
    monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(module, "MAX_FILES", 100)
    big = {f"/big/{number:02d}": b"x" * (90 << 10) for number in range(13)}
    many = {f"/many/{number:05d}": b"" for number in range(200)}
    visit = RecordingSystem(written(tmp_path / "host", {**big, **many, "/small": "s"}))
    for path in [*big, "/small"]:
        visit.read(path, 1 << 20)
    visit.glob("/many/*", 5000)
    recorded = visit.write(str(tmp_path / "copy"))
    names = list((tmp_path / "copy" / "rootfs").rglob("*"))
    assert len(names) <= 100
    assert sum(path.stat().st_size for path in names if path.is_file()) <= 1 << 20
    assert len(recorded.left_out) == 2
    again = RootedSystem(tmp_path / "copy")
    assert again.read("/small") == Found(b"s", "/small")
    assert again.read(recorded.left_out[0]) == Unreadable("left out of the recording, which was full")
    assert again.glob("/many/*", 5000) == tuple(sorted(many))


def test_others_cannot_read_it(tmp_path: Path) -> None:
    visit = RecordingSystem(written(tmp_path / "host", {"/etc/a": "x"}, env={"A": "1"}))
    visit.read("/etc/a")
    dict(visit.env())
    before = os.umask(0)
    try:
        visit.write(str(tmp_path / "copy"))
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "copy", *(tmp_path / "copy").rglob("*")]}
    assert modes == {0o700, 0o600}


def asking(tmp_path: Path) -> RecordingSystem:
    visit = RecordingSystem(written(tmp_path / "host", {"/etc/a": "x"}))
    visit.read("/etc/a")
    return visit


def test_an_earlier_recording_is_replaced_only_when_told(tmp_path: Path) -> None:
    visit, target = asking(tmp_path), tmp_path / "copy"
    visit.write(str(target))
    (target / "expected.json").write_text("{}")
    with pytest.raises(UsageError) as caught:
        visit.write(str(target))
    assert caught.value.text.key == "error.record-exists"
    visit.write(str(target), force=True)
    assert RootedSystem(target).read("/etc/a") == Found(b"x", "/etc/a")
    assert (target / "expected.json").read_text() == "{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "host"]


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, force: bool) -> None:
    visit = asking(tmp_path)
    for name, key in (
        ("diary", "error.record-foreign"),
        ("hand-made", "error.record-foreign"),
        ("file", "error.record-no-folder"),
        ("link", "error.record-link"),
    ):
        target = tmp_path / name
        if name == "diary":
            target.mkdir()
            (target / "diary.txt").write_text("dear diary")
        elif name == "hand-made":
            written(target, {"/etc/a": "x"}, system={})
        elif name == "file":
            target.write_text("x")
        else:
            target.symlink_to(tmp_path / "diary")
        with pytest.raises(UsageError) as caught:
            visit.write(str(target), force=force)
        assert caught.value.text.key == key
    assert (tmp_path / "diary" / "diary.txt").read_text() == "dear diary"
    assert [path.name for path in (tmp_path / "diary").iterdir()] == ["diary.txt"]


def test_an_empty_folder_and_new_parents_will_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", tmp_path / "new" / "deeper"):
        asking(tmp_path).write(str(target))
        assert RootedSystem(target).read("/etc/a") == Found(b"x", "/etc/a")


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvcheckError) as caught:
        asking(tmp_path).write(str(tmp_path / "file" / "copy"))
    assert caught.value.text.key == "error.cannot-write"


def test_links_and_names_of_a_hostile_host_stay_inside(tmp_path: Path) -> None:
    host = written(tmp_path / "host", {"/etc/a": "x", "/deep/" + "n" * 200 + "/b": "y", "/odd/\udcff\n": "z"})
    (tmp_path / "host" / "rootfs" / "out").symlink_to("/../../../../tmp")
    (tmp_path / "host" / "rootfs" / "loop").symlink_to("loop")
    visit = RecordingSystem(host)
    asked = ["/out/x", "/loop", "/etc/../../../etc/a", "/deep/" + "n" * 200 + "/b", "/odd/\udcff\n", "/x" * 2000, "/" + "y" * 300, ""]
    answers = [visit.read(path) for path in asked]
    visit.glob("/*")
    again = replay(visit, tmp_path / "copy")
    assert [type(again.read(path)) for path in asked] == [type(answer) for answer in answers]
    for path in (tmp_path / "copy").rglob("*"):
        assert path.resolve().is_relative_to(tmp_path / "copy")


def test_nvml_keeps_versions_that_look_like_addresses(tmp_path: Path) -> None:
    report = NvmlReport("ok", driver_version="12.4.1.1", nvml_version="12.4.1.1", gpus=[NvmlGpu(0, name="NVIDIA A10")])

    class Host(RealSystem):
        def nvml(self) -> NvmlReport:
            return report

        def libcuda_version(self) -> Any:
            return Absent("libcuda.so.1: cannot open shared object file")

    visit = RecordingSystem(Host(env={}))
    assert visit.nvml() == report
    visit.libcuda_version()
    again = replay(visit, tmp_path / "copy")
    assert again.nvml() == report
    assert again.libcuda_version() == Absent("libcuda.so.1: cannot open shared object file")
