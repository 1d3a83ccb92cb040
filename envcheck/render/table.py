"""Tables with wrapped cells of right width, Chinese included; the one place that loads rich, and only when a table is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.render.catalogue import clean
from envcheck.render.layout import WIDTH


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset(), width: int = WIDTH) -> str:
    """Plain text of a table at most `width` cells wide; the columns in `right` are set flush right. Cells are shown, never interpreted."""
    # rich takes 30 ms to load, a quarter of what `check` may use, and `check` draws no table.
    from io import StringIO  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text as Cell  # noqa: PLC0415

    drawn = Table(box=None, show_header=any(heads), padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for index, head in enumerate(heads):
        drawn.add_column(Cell(clean(head)), justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Cell(clean(cell)) for cell in row))
    out = StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False, _environ={})
    console.print(drawn, soft_wrap=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
