"""What is kept on disk: whole or not at all, this user's alone, bounded."""

from __future__ import annotations

import os

import pytest

from envcheck.system import store as module
from envcheck.system.store import FolderStore, cache_folder


def test_what_is_put_is_got(tmp_path):
    store = FolderStore(str(tmp_path / "a" / "b"))
    assert store.get("key") is None
    store.put("key", b"one\ntwo\n")
    kept = store.get("key")
    assert kept is not None
    assert (kept.body, kept.age_s) == (b"one\ntwo\n", 0)
    store.put("key", b"new")
    assert store.get("key").body == b"new"
    assert store.get("other") is None


def test_nobody_else_may_read_it(tmp_path):
    folder = tmp_path / "kept"
    FolderStore(str(folder)).put("key", b"x")
    assert folder.stat().st_mode & 0o077 == 0
    assert [file.stat().st_mode & 0o077 for file in folder.iterdir()] == [0]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: b"\xff" * 50, lambda data: b"{}\nx"]
)
def test_a_damaged_entry_is_none(tmp_path, damage):
    store = FolderStore(str(tmp_path))
    store.put("key", b"body")
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert store.get("key") is None


def test_an_entry_of_another_key_is_none(tmp_path):
    store = FolderStore(str(tmp_path))
    store.put("one", b"1")
    (one,) = tmp_path.iterdir()
    store.put("two", b"2")
    (two,) = set(tmp_path.iterdir()) - {one}
    one.write_bytes(two.read_bytes())
    assert store.get("one") is None


def test_a_link_is_not_followed(tmp_path):
    store = FolderStore(str(tmp_path / "kept"))
    store.put("key", b"body")
    (file,) = (tmp_path / "kept").iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert store.get("key") is None


def test_a_folder_that_cannot_be_is_no_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = FolderStore(str(tmp_path / "file" / "below"))
    store.put("key", b"body")
    assert store.get("key") is None


def test_what_is_too_large_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LIMIT", 10)
    store = FolderStore(str(tmp_path))
    store.put("key", bytes(11))
    assert os.listdir(tmp_path) == []


def test_the_oldest_entries_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 3)
    store = FolderStore(str(tmp_path))
    for number in range(5):
        store.put(str(number), b"x")
        newest = max(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        os.utime(newest, (1000 + number, 1000 + number))
    assert len(os.listdir(tmp_path)) == 3
    assert store.get("0") is None
    assert store.get("4") is not None


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/u"}, "/home/u/.cache/envcheck/models"),
        ({"HOME": "/home/u", "XDG_CACHE_HOME": "/data/"}, "/data/envcheck/models"),
        ({"HOME": "/home/u", "XDG_CACHE_HOME": "relative"}, "/home/u/.cache/envcheck/models"),
        ({}, None),
    ],
)
def test_where_it_is_kept(environment, folder):
    assert cache_folder(environment) == folder


def test_large_entries_make_room_too(tmp_path, monkeypatch):
    store = FolderStore(str(tmp_path))
    for number in range(4):
        store.put(str(number), bytes(1000))
        (file,) = (path for path in tmp_path.iterdir() if path.stat().st_mtime > 1000)
        os.utime(file, (number, number))
    monkeypatch.setattr(module, "_MOST_BYTES", 3 * 1200)  # an entry is its body and a line of about 150 bytes
    store.put("new", bytes(1000))
    assert [key for key in ("0", "1", "2", "3", "new") if store.get(key)] == ["2", "3", "new"]
