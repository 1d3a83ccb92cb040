"""Tables with wrapped cells of right width, Chinese included; the one place that loads rich, and only when a table is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.render.catalogue import clean
from envcheck.render.layout import WIDTH, cells, wrap

_GAP = 2  # cells between columns
_NAME_MOST = 32  # cells of the first column, which names things


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Plain text of a table at most `width` cells wide. Cells are shown, never interpreted."""
    # rich takes a quarter of the time that `check` may use, and `check` draws no table.
    from io import StringIO  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text as Cell  # noqa: PLC0415

    lines = [[clean(cell) for cell in row] for row in (heads, *rows)]
    drawn = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="")
    widths = _widths(lines, width)
    for head, column in zip(lines[0], widths, strict=True):
        drawn.add_column(Cell(head), overflow="fold", width=column)
    for line in lines[1:]:
        # Broken here, since rich breaks a path anywhere.
        drawn.add_row(*(Cell("\n".join(wrap(cell, column))) for cell, column in zip(line, widths, strict=True)))
    out = StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={})
    console.print(drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _widths(lines: Sequence[Sequence[str]], width: int) -> list[int]:
    """Cells of each column: as wide as its widest cell where all fit, else what is left dealt out from the left, fairly."""
    natural = [max(cells(line[index]) for line in lines) for index in range(len(lines[0]))]
    natural[0] = min(natural[0], _NAME_MOST)
    left = width - _GAP * (len(natural) - 1)
    widths = []
    for index, wanted in enumerate(natural):
        others = natural[index + 1 :]
        fair = left // (len(others) + 1) if index else left
        widths.append(max(1, min(wanted, max(fair, left - sum(others)))))
        left -= widths[-1]
    return widths
