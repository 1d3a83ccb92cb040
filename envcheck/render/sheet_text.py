"""The parameter sheet as text, markdown and JSON."""

from __future__ import annotations

import msgspec

from envcheck.planning.sheet import Column, Knob, Row, Sheet
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain
from envcheck.render.table import table

SHEET_SCHEMA = "envcheck.sheet/1"


class KnobOut(msgspec.Struct, frozen=True):
    """An argument, as this release takes it, and what it does."""

    name: str
    written: str
    choices: tuple[str, ...]
    does: str


class SheetOut(msgspec.Struct, frozen=True):
    """The answer of `sheet`. `defaults` have one value a column; `warned` = arguments on their way out."""

    vllm: str
    released: str | None
    needs: dict[str, str]
    engine: str
    columns: tuple[Column, ...]
    defaults: tuple[Row, ...]
    knobs: list[KnobOut]
    warned: tuple[str, ...]
    arguments: int
    schema: str = SHEET_SCHEMA


def sheet_out(sheet: Sheet, catalogue: Catalogue) -> SheetOut:
    """The JSON form."""
    return SheetOut(
        sheet.vllm,
        sheet.released,
        dict(sheet.needs),
        catalogue.text(sheet.engine),
        sheet.columns,
        sheet.rows,
        [KnobOut(knob.name, knob.written, knob.choices, catalogue.text(knob.why)) for knob in sheet.knobs],
        sheet.warned,
        sheet.arguments,
    )


def title(sheet: Sheet, catalogue: Catalogue) -> str:
    """The head line."""
    return catalogue.say("sheet.title", vllm=sheet.vllm, released=sheet.released)


def about(sheet: Sheet, catalogue: Catalogue) -> list[str]:
    """What the release needs, and its engine: a sentence each."""
    needs = [catalogue.say(f"sheet.need-{key}", value=value) for key, value in sheet.needs]
    return [catalogue.listed(needs) + ("." if catalogue.lang == "en" else "。"), catalogue.text(sheet.engine)]


def heads(sheet: Sheet, catalogue: Catalogue) -> list[str]:
    """The heads of the table of defaults."""
    return [catalogue.say("sheet.setting"), *(f"{column.engine.upper()}, {column.gib} GiB" for column in sheet.columns)]


def cells_of(row: Row) -> list[str]:
    """A line of the table of defaults."""
    return [row.setting, *("-" if value is None else value for value in row.values)]


def does(knob: Knob, catalogue: Catalogue) -> str:
    """What an argument does, with its choices."""
    choices = catalogue.say("sheet.choices", choices=catalogue.listed(knob.choices)) if knob.choices else ""
    return f"{catalogue.text(knob.why)} {choices}".strip()


def foot(sheet: Sheet, catalogue: Catalogue) -> list[str]:
    """What stands below: how many arguments there are, those on their way out."""
    lines = [catalogue.say("sheet.count", count=sheet.arguments)]
    if sheet.warned:
        lines.append(catalogue.say("sheet.deprecated", names=catalogue.listed(sheet.warned)))
    return lines


def sheet_text(sheet: Sheet, catalogue: Catalogue, paint: Paint = plain) -> str:
    """Plain text."""
    page = Page(catalogue, paint)
    page.write(title(sheet, catalogue), role="heading")
    for line in about(sheet, catalogue):
        page.write(line)
    page.heading("sheet.defaults")
    for line in table(heads(sheet, catalogue), [cells_of(row) for row in sheet.rows]).splitlines():
        page.raw(line)
    page.heading("sheet.knobs")
    for knob in sheet.knobs:
        page.write(f"`{knob.written}`", indent="  ")
        page.write(does(knob, catalogue), indent="      ", role="faint")
    page.blank()
    for line in foot(sheet, catalogue):
        page.write(line)
    return page.finish()


def sheet_markdown(sheet: Sheet, catalogue: Catalogue) -> str:
    """Markdown."""
    lines = [f"# {title(sheet, catalogue)}", "", *about(sheet, catalogue), "", f"## {catalogue.say('sheet.defaults')}", ""]
    lines += _table(heads(sheet, catalogue), [[f"`{row[0]}`", *row[1:]] for row in map(cells_of, sheet.rows)])
    knobs = [[f"`{knob.written}`", does(knob, catalogue)] for knob in sheet.knobs]
    lines += ["", f"## {catalogue.say('sheet.knobs')}", "", *_table([catalogue.say("sheet.argument"), catalogue.say("sheet.does")], knobs)]
    return "\n".join([*lines, "", *foot(sheet, catalogue), ""])


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    drawn = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, *rows)]
    return [drawn[0], "|" + "---|" * len(head), *drawn[1:]]
