"""`envcheck explain CODE`: one finding code in full."""

from __future__ import annotations

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.cli.world import load_matrix
from envcheck.errors import ExitCode, UsageError
from envcheck.render.catalogue import Catalogue

_LONGEST = 80  # characters of a question; more is none


@click.command("explain")
@click.argument("words", nargs=-1, metavar="[CODE|WORD...]")
@click.option("--list", "listing", is_flag=True, help="Every code with its title, by theme; the same without a code.")
@common(host=False)
def command(asked: Common, words: tuple[str, ...], listing: bool) -> int:
    """Explain a finding code: what it means, why it happens, how to check it, how to fix it, what not to do.

    Words find codes too: one code is explained, several are listed.
    """
    from envcheck.render.explain_page import explain_out, find_codes, in_order
    from envcheck.render.explain_text import codes_text, explain_text, found_text
    from envcheck.render.jsonmodel import EXPLAIN_SCHEMA, ExplainOut

    if asked.schema:
        schema_out(EXPLAIN_SCHEMA, ExplainOut, list[ExplainOut])  # one code, or several
        return int(ExitCode.READY)
    catalogue, question = asked.catalogue, " ".join(words).strip()[:_LONGEST]
    every = listing or not words
    codes = in_order() if every else _exact(question, catalogue) or find_codes(question, catalogue)
    if not codes:
        raise _unknown(question, catalogue)
    matrix = load_matrix(asked)
    pages = [page for code in codes if (page := explain_out(code, catalogue, matrix))]
    if asked.output == "json":
        json_out(pages if every or len(pages) > 1 else pages[0])
    elif every:
        to_stdout(codes_text(catalogue, asked.paint))
    elif len(pages) > 1:
        to_stdout(found_text(question, codes, catalogue, asked.paint))
    else:
        to_stdout(explain_text(pages[0], catalogue, asked.paint))
    return int(ExitCode.READY)


def _exact(question: str, catalogue: Catalogue) -> tuple[str, ...]:
    code = "-".join(question.lower().split())
    return (code,) if code in catalogue.codes() else ()


def _unknown(question: str, catalogue: Catalogue) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(question.lower(), catalogue.codes(), 3)
    key = "error.unknown-code-near" if near else "error.unknown-code"
    return UsageError(key, code=question, near=catalogue.listed(near))
