"""What `envcheck check` does, apart from the parsing of its command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcheck.cli.asked import Common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode

if TYPE_CHECKING:
    from envcheck.cli.wishes import Wishes


def check(asked: Common, vllm: str | None = None, model: str | None = None, wished: Wishes | None = None) -> int:
    """Probe, judge, and say what to do; the exit status is the verdict."""
    if asked.schema:
        from envcheck.model.report import CHECK_SCHEMA
        from envcheck.render.jsonmodel import CheckOut

        schema_out(CHECK_SCHEMA, CheckOut)
        return int(ExitCode.READY)
    from envcheck.cli.answer import answer
    from envcheck.cli.world import load_host, load_matrix, this_machine
    from envcheck.model.request import Request

    system = this_machine(asked)
    try:
        matrix = load_matrix(asked)
        host = load_host(asked, matrix, system)
    finally:
        if system is not None:
            system.drop_nvml()  # where the facts were not in order, nobody has asked it
    request = Request(vllm=vllm, model=model)
    report = answer(host, matrix, wished.on(request) if wished else request, asked)
    if asked.output == "json":
        from envcheck.render.jsonout import check_out

        json_out(check_out(report, asked.catalogue, matrix.info.date))
    else:
        from envcheck.cli.view import view_of
        from envcheck.render.check_text import check_text

        to_stdout(check_text(report, asked.catalogue, view_of(report.host, matrix, asked), asked.paint))
    from envcheck.cli.exits import of_verdict

    return of_verdict(report.verdict)
