"""Cells of characters, against the tables of Unicode."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from envcheck.render.layout import cells


def test_every_character_takes_the_cells_that_unicode_gives_it() -> None:
    for number in [*range(0x20, 0x7F), *range(0xA0, 0x3400), *range(0xFE00, 0x10000)]:
        char = chr(number)
        wanted = 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
        assert cells(char) == wanted, hex(number)
        assert cells(f"a{char}b") == wanted + 2, hex(number)
