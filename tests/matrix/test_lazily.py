"""A sequence made as far as it is looked at, and the releases that are read so."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envcheck.errors import MatrixError
from envcheck.matrix.lazily import Lazily
from envcheck.matrix.load import Matrix

Spoil = Callable[[str, Callable[[Any], None]], Path]


def counted(taken: list[int], end: int = 5) -> Iterator[int]:
    for number in range(end):
        taken.append(number)
        yield number


def test_nothing_is_made_before_it_is_asked_for() -> None:
    taken: list[int] = []
    items = Lazily(counted(taken))
    assert taken == []
    assert items
    assert items[0] == 0
    assert taken == [0]
    assert items[:2] == (0, 1)
    assert taken == [0, 1]
    assert next(one for one in items if one == 2) == 2
    assert taken == [0, 1, 2]
    assert len(items) == 5
    assert taken == [0, 1, 2, 3, 4]


def test_it_is_like_the_tuple_of_its_items() -> None:
    items, plain = Lazily(iter(range(5))), tuple(range(5))
    assert items[-1] == plain[-1]
    assert items[1:] == plain[1:]
    assert items[::-1] == plain[::-1]
    assert Lazily(range(5))[4:1:-1] == plain[4:1:-1]
    assert Lazily(range(5))[-2:5] == plain[-2:5]
    assert Lazily(range(5))[:0] == ()
    assert list(reversed(items)) == list(reversed(plain))
    assert items.index(3) == 3
    assert 4 in items
    assert tuple(items) == plain
    assert list(items.since(3)) == [3, 4]
    assert not Lazily(())
    with pytest.raises(IndexError):
        _ = items[5]


def test_a_failure_is_told_again_and_never_looks_like_the_end() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise MatrixError("error.matrix-invalid", file="x", why="y")

    items = Lazily(broken())
    assert items[0] == 1
    for _ in range(2):
        with pytest.raises(MatrixError):
            list(items)


def test_an_old_series_is_not_read_for_the_newest_release(spoil: Spoil) -> None:
    matrix = Matrix(spoil("vllm/0.6.json", lambda releases: releases[0].pop("released")))
    newest = matrix.releases[0]
    assert matrix.release(newest.raw) is newest
    assert matrix.matching("latest") == (newest,)
    with pytest.raises(MatrixError):
        matrix.release("0.6.3")
    with pytest.raises(MatrixError):  # and not "there is no such release"
        matrix.release("0.6.3")


def test_a_release_in_the_file_of_another_series_is_refused(spoil: Spoil) -> None:
    """The files' names order the releases, so a name that is not true would hide one."""
    matrix = Matrix(spoil("vllm/0.19.json", lambda releases: releases[0].update(version="0.34.0")))
    with pytest.raises(MatrixError) as error:
        len(matrix.releases)
    assert "another series" in str(error.value.text.params["why"])
