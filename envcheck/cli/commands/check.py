"""`envcheck check`: what is here, will vLLM run, what to do first."""

from __future__ import annotations

import click

from envcheck.cli.options import Common, common, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode


@click.command("check")
@click.option("--vllm", callback=said, metavar="SPEC", help="Judge this vLLM: a release, `0.19`, `>=0.8,<0.10` or `latest`.")
@click.option("--model", callback=said, metavar="NAME", help="Judge for serving this model (hub id or local folder).")
@common()
def command(asked: Common, vllm: str | None, model: str | None) -> int:
    """Probe, judge, and say what to do. The exit status is the verdict: 0 ready, 1 blocked, 3 unknown."""
    if asked.schema:
        from envcheck.model.report import CHECK_SCHEMA
        from envcheck.render.jsonmodel import CheckOut

        schema_out(CHECK_SCHEMA, CheckOut)
        return int(ExitCode.READY)
    from envcheck.cli.answer import answer
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.model.request import Request

    matrix = load_matrix(asked)
    report = answer(load_host(asked, matrix), matrix, Request(vllm=vllm, model=model), asked)
    if asked.output == "json":
        from envcheck.render.jsonout import check_out

        json_out(check_out(report, asked.catalogue, matrix.info.date))
    else:
        from envcheck.cli.view import view_of
        from envcheck.render.check_text import check_text

        to_stdout(check_text(report, asked.catalogue, view_of(report.host, matrix, asked), asked.paint))
    from envcheck.cli.exits import of_verdict

    return of_verdict(report.verdict)
