"""`envcheck sheet`: the one-page parameter sheet of a release."""

from __future__ import annotations

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode, cannot_write


@click.command("sheet")
@click.option("--vllm", callback=said, metavar="SPEC", help="Of this vLLM; otherwise the newest.")
@click.option("-o", "--output-file", "path", callback=said, metavar="FILE", help="Write it there instead of to standard output.")
@common(host=False, formats=("text", "markdown", "html", "json"))
def command(asked: Common, vllm: str | None, path: str | None) -> int:
    """Print the parameter sheet of a release: defaults side by side, arguments as it takes them. HTML is one A4 page to print."""
    from envcheck.render.sheet_text import SHEET_SCHEMA, SheetOut, sheet_markdown, sheet_out, sheet_text

    if asked.schema:
        schema_out(SHEET_SCHEMA, SheetOut)
        return int(ExitCode.READY)
    from envcheck.cli.world import load_matrix
    from envcheck.planning.sheet import make_sheet

    matrix, catalogue = load_matrix(asked), asked.catalogue
    sheet = make_sheet(matrix, matrix.matching(vllm)[0] if vllm else matrix.releases[0])
    if asked.output == "json" and not path:
        json_out(sheet_out(sheet, catalogue))
        return int(ExitCode.READY)
    if asked.output == "html":
        from envcheck.render.sheet_html import sheet_html

        text = sheet_html(sheet, catalogue)
    elif asked.output == "json":
        import msgspec

        text = msgspec.json.format(msgspec.json.encode(sheet_out(sheet, catalogue)), indent=2).decode() + "\n"
    elif asked.output == "markdown":
        text = sheet_markdown(sheet, catalogue)
    else:
        text = sheet_text(sheet, catalogue) if path else sheet_text(sheet, catalogue, asked.paint)
    _write(text, path) if path else to_stdout(text)
    return int(ExitCode.READY)


def _write(text: str, path: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise cannot_write(path, error) from None
