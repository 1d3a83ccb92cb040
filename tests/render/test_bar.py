"""The bar is drawn to scale, fills its width, and shows every part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from envcheck.render.bar import bar, marks
from envcheck.render.layout import cells

sizes = st.lists(st.floats(0, 500, allow_nan=False), max_size=9)


@given(sizes, st.floats(0.1, 500), st.booleans())
def test_it_fills_its_width_whatever_the_parts(parts, total, fancy):
    assert len(bar(parts, total, fancy)) == 76


@given(sizes, st.booleans())
def test_every_part_that_is_there_is_seen(parts, fancy):
    drawn = bar(parts, sum(parts) + 1, fancy)
    for part, mark in zip(parts, marks(len(parts), fancy), strict=True):
        assert (mark in drawn) == (part > 0)


def test_half_is_half():
    assert bar([50.0, 25.0], 100.0, False, width=40) == "#" * 20 + "=" * 10 + "." * 10


def test_more_than_the_whole_is_cut_at_the_whole():
    assert bar([90.0, 90.0], 100.0, False, width=10) == "#####====="


def test_nothing_is_drawn_of_nothing():
    assert bar([], 0, True) == ""


def test_every_mark_takes_one_cell():
    assert all(cells(mark) == 1 for fancy in (True, False) for mark in marks(9, fancy))
