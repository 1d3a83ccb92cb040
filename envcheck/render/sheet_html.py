"""The parameter sheet as one HTML page for A4, without anything from elsewhere."""

from __future__ import annotations

from html import escape

from envcheck.planning.sheet import Sheet
from envcheck.render.catalogue import Catalogue
from envcheck.render.sheet_text import about, cells_of, does, foot, heads, title

_STYLE = """
@page { size: A4; margin: 9mm 11mm }
body { font: 8pt/1.25 "Noto Sans", "Noto Sans CJK SC", "Microsoft YaHei", "PingFang SC", sans-serif }
body { color: #111; max-width: 188mm; margin: 0 auto }
@media screen { body { padding: 8mm } }
h1 { font-size: 15pt; margin: 0 0 1mm }
h2 { font-size: 10pt; margin: 2mm 0 .5mm; border-bottom: .5pt solid #111 }
p { margin: 0 0 1mm; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
tr { break-inside: avoid }
td, th { border-bottom: .4pt solid #bbb; padding: .35mm 1.5mm .35mm 0; text-align: left; vertical-align: top }
th { font-weight: 600 }
td.written { width: 38% }
code { font: 7.3pt "DejaVu Sans Mono", Consolas, monospace; overflow-wrap: anywhere }
"""


def sheet_html(sheet: Sheet, catalogue: Catalogue) -> str:
    """The page; every value escaped."""
    head = escape(title(sheet, catalogue))
    lang = "zh-CN" if catalogue.lang == "zh" else "en"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    parts = [
        f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f"<title>{head}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{head}</h1>",
        *(f"<p>{_marked(line)}</p>" for line in about(sheet, catalogue)),
        f"<h2>{escape(catalogue.say('sheet.defaults'))}</h2>",
        _defaults(sheet, catalogue),
        f"<h2>{escape(catalogue.say('sheet.knobs'))}</h2>",
        _knobs(sheet, catalogue),
        "<h2></h2>",
        *(f"<p>{_marked(line)}</p>" for line in foot(sheet, catalogue)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _marked(line: str) -> str:
    """The sentence escaped, what stands in backticks as code."""
    parts = escape(line).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _defaults(sheet: Sheet, catalogue: Catalogue) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads(sheet, catalogue))
    rows = []
    for row in sheet.rows:
        name, *cells = (escape(cell) for cell in cells_of(row))
        rows.append(f"<tr><td><code>{name}</code></td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table><tr>{head}</tr>\n" + "\n".join(rows) + "</table>"


def _knobs(sheet: Sheet, catalogue: Catalogue) -> str:
    rows = [
        f'<tr><td class="written"><code>{escape(knob.written)}</code></td><td>{_marked(does(knob, catalogue))}</td></tr>'
        for knob in sheet.knobs
    ]
    return "<table>" + "\n".join(rows) + "</table>"
