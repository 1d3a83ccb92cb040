"""What a recording holds and where it is written: nothing that identifies anybody, bounded, nothing outside of the folder."""

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
from envcheck.system.port import CommandResult, NvmlGpu, NvmlReport
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
