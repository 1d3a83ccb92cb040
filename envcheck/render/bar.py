"""A bar drawn to scale: what a GPU's memory goes to, in one line of a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.render.layout import WIDTH

_SHADES, _LETTERS = "█▓▒░▚▞▤▥▦", "#=+:%o*x~"
FREE = "·", "."  # what nothing takes


def marks(count: int, fancy: bool) -> list[str]:
    """A mark for each of so many parts, each its own as far as there are enough."""
    drawn = _SHADES if fancy else _LETTERS
    return [drawn[place % len(drawn)] for place in range(count)]


def bar(parts: Sequence[float], total: float, fancy: bool, width: int = WIDTH - 4) -> str:
    """Parts of a total as one line of `width` cells. Every part that is there gets a cell; what they leave is drawn as free."""
    if total <= 0 or width < len(parts) + 1:
        return ""
    sizes = [max(0.0, part) for part in parts]
    widths = [max(1, round(size / total * width)) if size > 0 else 0 for size in sizes]
    while sum(widths) > width:  # rounding, or parts that come to more than the whole
        widths[widths.index(max(widths))] -= 1
    drawn = "".join(mark * cells for mark, cells in zip(marks(len(parts), fancy), widths, strict=True))
    return drawn + FREE[0 if fancy else 1] * (width - len(drawn))
