from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.errors import ExitCode, InputError
from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system.port import CommandResult, DiskSpace, HttpAnswer, NvmlGpu, NvmlReport, System
from envcheck.system.rooted import RootedSystem


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    (tmp_path / "rootfs" / "etc").mkdir(parents=True)
    (tmp_path / "rootfs" / "etc" / "os-release").write_text("ID=ubuntu\n")
    return tmp_path / "rootfs"


def recorded(folder: Path, name: str, value: Any) -> RootedSystem:
    (folder / name).write_text(json.dumps(value))
    return RootedSystem(folder)


def invalid(folder: Path, name: str, text: str | bytes) -> dict[str, Any]:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        RootedSystem(folder)
    assert caught.value.exit_code == ExitCode.INVALID_INPUT
    assert caught.value.text.params["file"] == str(folder / name)
    return {"key": caught.value.text.key, **caught.value.text.params}


def test_it_is_a_system(rootfs: Path) -> None:
    system: System = RootedSystem(rootfs.parent)
    assert system.env() == {}


# ---- files ----


def test_a_file_is_read_under_its_host_name(rootfs: Path) -> None:
    system = RootedSystem(rootfs.parent)
    assert system.read("/etc/os-release") == Found(b"ID=ubuntu\n", "/etc/os-release")
    assert system.read("/etc/os-release", 2) == Found(b"ID", "/etc/os-release")
    assert isinstance(system.read("/etc/centos-release"), Absent)


def test_an_absolute_link_stays_inside(rootfs: Path) -> None:
    (rootfs / "usr" / "local" / "cuda-12.1").mkdir(parents=True)
    (rootfs / "usr" / "local" / "cuda-12.1" / "version.json").write_text("{}")
    (rootfs / "usr" / "local" / "cuda").symlink_to("/etc/alternatives/cuda")
    (rootfs / "etc" / "alternatives").mkdir()
    (rootfs / "etc" / "alternatives" / "cuda").symlink_to("/usr/local/cuda-12.1")
    system = RootedSystem(rootfs.parent)
    assert system.resolve("/usr/local/cuda") == Found("/usr/local/cuda-12.1", "/usr/local/cuda")
    assert system.read("/usr/local/cuda/version.json") == Found(b"{}", "/usr/local/cuda/version.json")


def test_a_link_to_a_file_of_this_machine_is_absent_in_the_recording(rootfs: Path) -> None:
    (rootfs / "stolen").symlink_to("/etc/passwd")
    assert os.path.exists("/etc/passwd")
    assert isinstance(RootedSystem(rootfs.parent).read("/stolen"), Absent)


@pytest.mark.parametrize("target", ["../../../../../../../../../../etc/hostname", "/../../etc/hostname", "etc/../../../etc/hostname"])
def test_dots_do_not_climb_out(rootfs: Path, target: str) -> None:
    (rootfs / "etc" / "hostname").write_text("recorded")
    (rootfs / "climb").symlink_to(target)
    (rootfs.parent / "etc").mkdir()
    (rootfs.parent / "etc" / "hostname").write_text("outside")
    system = RootedSystem(rootfs.parent)
    assert system.read("/climb") == Found(b"recorded", "/climb")
    assert system.read("/etc/../../../etc/hostname") == Found(b"recorded", "/etc/../../../etc/hostname")


def test_a_folder_link_out_of_the_tree_is_not_followed(rootfs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("x")
    (rootfs / "door").symlink_to(outside)
    system = RootedSystem(rootfs.parent)
    assert isinstance(system.read("/door/secret"), Absent)
    assert system.glob("/door/*") == ()


def test_the_tree_itself_may_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "rootfs").symlink_to("/")
    with pytest.raises(InputError) as caught:
        RootedSystem(tmp_path)
    assert caught.value.text.key == "error.recording-unreadable"


def test_loops_pipes_and_folders_do_not_hang_or_raise(rootfs: Path) -> None:
    (rootfs / "a").symlink_to("b")
    (rootfs / "b").symlink_to("/a")
    os.mkfifo(rootfs / "pipe")
    system = RootedSystem(rootfs.parent)
    assert isinstance(system.read("/a"), Unreadable)
    assert system.read("/pipe") == Unreadable("is no regular file")
    assert system.read("/etc") == Unreadable("is a folder")
    assert isinstance(system.read("/etc/os-release/below"), Absent)
    assert system.read("/\0") == Unreadable("not a path")


def test_patterns_follow_links_inside(rootfs: Path) -> None:
    for name in ("0000:00:07.0", "0000:00:08.0"):
        (rootfs / "sys" / "devices" / name).mkdir(parents=True)
        (rootfs / "sys" / "devices" / name / "vendor").write_text("0x10de\n")
    (rootfs / "sys" / "bus").mkdir()
    (rootfs / "sys" / "bus" / "devices").symlink_to("/sys/devices")
    system = RootedSystem(rootfs.parent)
    assert system.glob("/sys/bus/devices/*/vendor") == tuple(f"/sys/bus/devices/0000:00:0{n}.0/vendor" for n in (7, 8))
    assert system.glob("/sys/bus/devices/*", 1) == ("/sys/bus/devices/0000:00:07.0",)


def test_what_was_unreadable_stays_unreadable(rootfs: Path) -> None:
    (rootfs / "root").mkdir()
    (rootfs / "root" / "x").write_text("not to be seen")
    system = recorded(rootfs.parent, "system.json", {"unreadable": {"/dev/kmsg": "permission denied", "/root": "permission denied"}})
    assert system.read("/dev/kmsg") == Unreadable("permission denied")
    assert system.exists("/dev/kmsg")
    assert system.read("/root/x") == Unreadable("permission denied")
    assert not system.exists("/root/x")
    assert system.glob("/root/*") == ()
    assert system.read("/etc/os-release") == Found(b"ID=ubuntu\n", "/etc/os-release")


PART = st.sampled_from(["a", "b", "c", "..", ".", "", "etc"])
TARGET = st.builds(lambda root, parts: root + "/".join(parts), st.sampled_from(["", "/"]), st.lists(PART, min_size=1, max_size=6)).filter(
    bool
)


@given(links=st.lists(TARGET, min_size=3, max_size=3), path=st.lists(PART, min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_no_web_of_links_leads_out(links: list[str], path: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "rootfs"
        (tree / "etc" / "c").mkdir(parents=True)
        for place, target in zip((tree / "a", tree / "b", tree / "etc" / "a"), links, strict=True):
            place.symlink_to(target)
        system = RootedSystem(tree.parent)
        resolved = system.resolve("/" + "/".join(path))
        if isinstance(resolved, Found):
            # Resolved means: no link is left, so the kernel, which knows nothing of our root, stays at the same place.
            inside = Path(str(tree) + resolved.value)
            assert inside.resolve() == inside
            assert inside.is_relative_to(tree)


# ---- commands and environment ----


def test_commands_answer_as_recorded(tmp_path: Path) -> None:
    system = recorded(
        tmp_path,
        "commands.json",
        {
            "nvidia-smi --query-gpu=name": {"status": 0, "stdout": "NVIDIA A10\n", "stderr": ""},
            "modinfo -F 'the version' nvidia": {"status": 1, "stderr": "modinfo: ERROR"},
            "nvcc --version": {"error": "timeout"},
            "dmesg": {"error": "permission"},
        },
    )
    assert system.run(["nvidia-smi", "--query-gpu=name"]) == Found(CommandResult(0, "NVIDIA A10\n", ""), "nvidia-smi")
    assert system.run(["modinfo", "-F", "the version", "nvidia"]) == Found(CommandResult(1, "", "modinfo: ERROR"), "modinfo")
    assert system.run(["nvcc", "--version"], timeout=1.5) == Unreadable("timed out after 1.5 s")
    assert system.run(["dmesg"]) == Unreadable("permission denied")
    assert system.run(["nvidia-smi"]) == Absent("no such command")


def test_executables_are_those_listed_and_those_on_the_recorded_path(rootfs: Path) -> None:
    (rootfs / "usr" / "bin").mkdir(parents=True)
    (rootfs / "usr" / "bin" / "python3.11").touch(0o755)
    (rootfs / "usr" / "bin" / "python3").symlink_to("python3.11")
    (rootfs / "usr" / "bin" / "notes").touch(0o644)
    (rootfs.parent / "env.json").write_text(json.dumps({"PATH": "/opt/bin:/usr/bin"}))
    system = recorded(rootfs.parent, "system.json", {"which": {"gcc": "/usr/bin/gcc"}})
    assert system.env() == {"PATH": "/opt/bin:/usr/bin"}
    assert system.which("gcc") == "/usr/bin/gcc"
    assert system.which("python3") == "/usr/bin/python3"
    assert system.which("/usr/bin/python3") == "/usr/bin/python3"
    assert system.which("notes") is None
    assert system.which("sh") is None


# ---- NVML ----


def test_nvml_and_libcuda_as_recorded(tmp_path: Path) -> None:
    gpu = {"index": 0, "name": "NVIDIA A10", "compute_capability": [8, 6], "memory_total_bytes": 24146608128}
    libcuda = {"value": 12020, "source": "/usr/lib/libcuda.so.535.161.08"}
    system = recorded(tmp_path, "nvml.json", {"status": "ok", "driver_version": "535.161.08", "gpus": [gpu], "libcuda_version": libcuda})
    read = NvmlGpu(index=0, name="NVIDIA A10", compute_capability=(8, 6), memory_total_bytes=24146608128)
    assert system.nvml() == NvmlReport("ok", driver_version="535.161.08", gpus=[read])
    assert system.libcuda_version() == Found(12020, "/usr/lib/libcuda.so.535.161.08")


@pytest.mark.parametrize(
    ("libcuda", "fact"),
    [
        ({"absent": "no such library"}, Absent("no such library")),
        ({"unreadable": "wrong ELF class"}, Unreadable("wrong ELF class")),
        (None, Unreadable("not recorded")),
    ],
)
def test_libcuda_in_its_three_states(tmp_path: Path, libcuda: Any, fact: Any) -> None:
    assert recorded(tmp_path, "nvml.json", {"status": "ok", "libcuda_version": libcuda}).libcuda_version() == fact


def test_without_a_report_there_is_no_library(rootfs: Path) -> None:
    system = RootedSystem(rootfs.parent)
    assert system.nvml().status == "LibraryNotFound"
    assert isinstance(system.libcuda_version(), Absent)


# ---- the rest ----


def test_system_facts_as_recorded(tmp_path: Path) -> None:
    disk = {"/": {"total_bytes": 100, "free_bytes": 10}, "/root/.cache": {"total_bytes": 900, "free_bytes": 500}}
    system = recorded(tmp_path, "system.json", {"uname": ["Linux", "5.15.0-91-generic", "x86_64"], "libc": ["glibc", "2.35"], "disk": disk})
    assert system.uname() == Found(("Linux", "5.15.0-91-generic", "x86_64"), "uname")
    assert system.libc() == Found(("glibc", "2.35"), "confstr")
    assert system.disk("/root/.cache/huggingface") == Found(DiskSpace(900, 500), "/root/.cache")
    assert system.disk("/root/.cacheX") == Found(DiskSpace(100, 10), "/")


def test_what_was_not_recorded_is_unknown_and_not_missing(rootfs: Path) -> None:
    system = RootedSystem(rootfs.parent)
    assert system.uname() == system.libc() == system.disk("/") == system.http_get("https://hub.example/", {}) == Unreadable("not recorded")


def test_answers_of_the_network_as_recorded(tmp_path: Path) -> None:
    url = "https://hub.example/config.json"
    system = recorded(tmp_path, "http.json", {url: {"body": "{}"}, "https://gone.example/": {"error": "connection refused"}})
    assert system.http_get(url, {}) == Found(HttpAnswer(200, b"{}", url), url)
    assert system.http_get(url, {}, limit=1) == Found(HttpAnswer(200, b"{", url, truncated=True), url)
    assert system.http_get("https://gone.example/", {}) == Unreadable("connection refused")


# ---- folders and files that are not what they should be ----


def test_a_folder_that_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "something.json").write_text("{}")
    for path in (tmp_path, tmp_path / "gone", tmp_path / "something.json"):
        with pytest.raises(InputError) as caught:
            RootedSystem(path)
        assert caught.value.text.key == "error.not-a-recording"
        assert caught.value.text.params == {"path": str(path)}


def test_an_empty_tree_is_a_recording(tmp_path: Path) -> None:
    (tmp_path / "rootfs").mkdir()
    assert isinstance(RootedSystem(tmp_path).read("/etc/os-release"), Absent)


@pytest.mark.parametrize(
    ("name", "text", "at"),
    [
        ("commands.json", '{"nvidia-smi": {"status": "zero"}}', "$[...].status"),
        ("commands.json", '{"nvidia-smi": {"error": "lost"}}', "$[...].error"),
        ("commands.json", '{"nvidia-smi": {"exit": 1}}', "$[...]"),
        ("commands.json", "[]", "$"),
        ("nvml.json", "{}", "$"),
        ("nvml.json", '{"status": "ok", "gpus": [{"index": 0}, {"index": "one"}]}', "$.gpus[1].index"),
        ("nvml.json", '{"status": "ok", "gpu": []}', "$"),
        ("env.json", '{"PATH": null}', "$[...]"),
        ("system.json", '{"disk": {"/": {"total_bytes": 1.5, "free_bytes": 0}}}', "$.disk[...].total_bytes"),
        ("system.json", '{"libcc": ["glibc", "2.35"]}', "$"),
        ("http.json", '{"https://hub.example/": 200}', "$[...]"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(tmp_path: Path, name: str, text: str, at: str) -> None:
    said = invalid(tmp_path, name, text)
    assert said["key"] == "error.recording-invalid"
    assert said["at"] == at
    assert said["reason"]


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", b"\x00\xff\xfe", b'{"a": "\xff"}', "[" * 100_000])
def test_broken_json_is_named(tmp_path: Path, text: str | bytes) -> None:
    assert invalid(tmp_path, "commands.json", text)["key"] == "error.recording-invalid"


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "nvml.json").open("wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(InputError) as caught:
        RootedSystem(tmp_path)
    assert caught.value.text.params["reason"] == "larger than 16 MiB"


def test_a_folder_or_pipe_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "env.json")
    with pytest.raises(InputError) as caught:
        RootedSystem(tmp_path)
    assert caught.value.text.key == "error.recording-unreadable"
    (tmp_path / "env.json").unlink()
    (tmp_path / "env.json").mkdir()
    with pytest.raises(InputError):
        RootedSystem(tmp_path)
