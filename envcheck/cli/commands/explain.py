"""`envcheck explain CODE`: one finding code in full."""

from __future__ import annotations

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode, UsageError
from envcheck.render.catalogue import Catalogue


@click.command("explain")
@click.argument("code", required=False)
@common(host=False)
def command(asked: Common, code: str | None) -> int:
    """Explain a finding code: what it means, why it happens, how to check it, how to fix it. Without a code, list them all."""
    from envcheck.render.explain_text import codes_text, explain_text
    from envcheck.render.jsonmodel import EXPLAIN_SCHEMA, ExplainOut
    from envcheck.render.jsonout import explain_out

    if asked.schema:
        schema_out(EXPLAIN_SCHEMA, ExplainOut, list[ExplainOut])  # one code, or all
        return int(ExitCode.READY)
    catalogue = asked.catalogue
    if code is None:
        pages = [page for each in catalogue.codes() if (page := explain_out(each, catalogue))]
        _ = json_out(pages) if asked.output == "json" else to_stdout(codes_text(catalogue.codes(), catalogue, asked.paint))
        return int(ExitCode.READY)
    page = explain_out(code.strip().lower(), catalogue)
    if page is None:
        raise _unknown(code, catalogue)
    _ = json_out(page) if asked.output == "json" else to_stdout(explain_text(page, catalogue, asked.paint))
    return int(ExitCode.READY)


def _unknown(code: str, catalogue: Catalogue) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(code.lower()[:80], catalogue.codes(), 3)
    key = "error.unknown-code-near" if near else "error.unknown-code"
    return UsageError(key, code=code[:80], near=catalogue.listed(near))
