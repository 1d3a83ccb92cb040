from __future__ import annotations

import errno
import fnmatch
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.system.files import _matches, expand, failure, find_executable, list_folder, parents, read_bounded


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root reads everything, so it has to become somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_reads_a_file_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "version"
    path.write_bytes(b"535.161.08\n")
    assert read_bounded(str(path), 100) == Found(b"535.161.08\n", str(path))


def test_reads_a_virtual_file_whose_size_is_said_to_be_zero() -> None:
    assert os.stat("/proc/self/status").st_size == 0
    fact = read_bounded("/proc/self/status", 65_536)
    assert isinstance(fact, Found)
    assert b"\nPid:" in fact.value


def test_reads_no_more_than_the_limit_of_a_huge_file(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    fact = read_bounded(str(path), 65_536)
    assert isinstance(fact, Found)
    assert len(fact.value) == 65_536


def test_keeps_binary_content_as_it_is(tmp_path: Path) -> None:
    data = bytes(range(256)) * 3
    (tmp_path / "binary").write_bytes(data)
    assert read_bounded(str(tmp_path / "binary"), 10_000) == Found(data, str(tmp_path / "binary"))


def test_a_missing_file_and_a_missing_folder_are_absent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert isinstance(read_bounded(str(tmp_path / "gone"), 10), Absent)
    assert isinstance(read_bounded(str(tmp_path / "gone" / "deeper"), 10), Absent)
    assert isinstance(read_bounded(str(tmp_path / "file" / "below"), 10), Absent)


def test_a_pipe_without_a_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_bounded(str(tmp_path / "pipe"), 10) == Unreadable("is no regular file")


def test_a_device_is_refused() -> None:
    assert read_bounded("/dev/zero", 10) == Unreadable("is no regular file")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert read_bounded(str(tmp_path), 10) == Unreadable("is a folder")


def test_a_file_one_may_not_read_is_unreadable_and_not_absent(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("x")
    path.chmod(0)
    with unprivileged():
        assert read_bounded(str(path), 10) == Unreadable("permission denied")


def test_a_link_to_itself_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert isinstance(read_bounded(str(tmp_path / "loop"), 10), Unreadable)


@pytest.mark.parametrize("path", ["/etc/\0passwd", "/etc/\ud800", "/" + "n" * 5000])
def test_what_is_no_path_is_unreadable(path: str) -> None:
    assert isinstance(read_bounded(path, 10), Unreadable)


def test_a_file_that_fails_while_being_read_is_unreadable() -> None:
    # Address 0 of this process is not mapped, so opening succeeds and reading does not.
    assert isinstance(read_bounded("/proc/self/mem", 10), Unreadable)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.ENOENT, Absent), (errno.ENOTDIR, Absent), (errno.EACCES, Unreadable), (errno.EPERM, Unreadable), (errno.EIO, Unreadable)],
)
def test_only_a_missing_file_is_absent(code: int, kind: type) -> None:
    assert isinstance(failure(OSError(code, os.strerror(code))), kind)


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    for name in ("0000:01:00.0", "0000:02:00.0", ".hidden"):
        (tmp_path / "devices" / name).mkdir(parents=True)
        (tmp_path / "devices" / name / "vendor").write_text("0x10de\n")
    (tmp_path / "devices" / "0000:02:00.0" / "vendor").unlink()
    return tmp_path / "devices"


def glob(pattern: str, limit: int = 512) -> tuple[str, ...]:
    return expand(pattern, list_folder, os.path.exists, limit)


def test_a_pattern_in_the_middle_finds_only_what_is_there(devices: Path) -> None:
    assert glob(f"{devices}/*/vendor") == (f"{devices}/0000:01:00.0/vendor",)


def test_a_star_does_not_match_a_hidden_name_unless_told(devices: Path) -> None:
    assert glob(f"{devices}/*") == (f"{devices}/0000:01:00.0", f"{devices}/0000:02:00.0")
    assert glob(f"{devices}/.h*") == (f"{devices}/.hidden",)


def test_character_sets_and_question_marks(devices: Path) -> None:
    assert glob(f"{devices}/0000:0[2-9]:??.0") == (f"{devices}/0000:02:00.0",)


def test_a_pattern_without_signs_is_a_question_of_existence(devices: Path) -> None:
    assert glob(str(devices)) == (str(devices),)
    assert glob(f"{devices}/nothing") == ()


def test_at_most_limit_paths_and_they_are_sorted(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number:02}").touch()
    assert glob(f"{tmp_path}/*", 3) == tuple(f"{tmp_path}/f0{n}" for n in range(3))


def test_a_folder_that_cannot_be_listed_has_no_matches(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert glob(f"{tmp_path}/file/*") == ()
    assert glob("/etc/\0/*") == ()


def test_parents_end_at_the_root_whatever_the_path() -> None:
    assert parents("/a/b/") == ["/a/b", "/a", "/"]
    assert parents("/") == ["/"]
    assert parents("relative/path")[-1] == "/"
    assert parents("") == ["/"]


def test_an_executable_is_found_on_the_path_in_order(tmp_path: Path) -> None:
    for folder, mode in (("first", 0o644), ("second", 0o755), ("third", 0o755)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nvcc").touch(mode)
        (tmp_path / folder / "nvcc").chmod(mode)
    search = ":".join(str(tmp_path / folder) for folder in ("gone", "first", "second", "third"))
    assert find_executable("nvcc", search) == str(tmp_path / "second" / "nvcc")
    assert find_executable("ptxas", search) is None


def test_a_folder_is_no_executable_and_an_empty_part_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvcc").mkdir()
    assert find_executable("nvcc", str(tmp_path)) is None
    (tmp_path / "tool").touch(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_executable("tool", "::") is None


@settings(max_examples=1000)
@given(st.text("ab.*/?[]x", max_size=6).filter(lambda name: "/" not in name), st.text("ab.*?[]x", min_size=1, max_size=6))
def test_a_name_matches_as_fnmatch_says_but_for_a_leading_dot(name: str, pattern: str) -> None:
    shown = pattern.startswith(".") or not name.startswith(".")
    assert _matches(name, pattern) is (shown and fnmatch.fnmatchcase(name, pattern))
