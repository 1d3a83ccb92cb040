"""`envcheck probe`: the facts only."""

from __future__ import annotations

import click

from envcheck.cli.options import Common, common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.cli.world import load_host, load_matrix
from envcheck.errors import ExitCode


@click.command("probe")
@common()
def command(asked: Common) -> int:
    """Show the facts of this host (or of --host), each with its source or the reason why there is none."""
    if asked.schema:
        from envcheck.model.host import SCHEMA, HostReport

        schema_out(SCHEMA, HostReport)
        return int(ExitCode.READY)
    matrix = load_matrix(asked)
    host = load_host(asked, matrix)
    if asked.output == "json":
        json_out(host)
    elif asked.quiet:
        from envcheck.cli.view import cloud_name
        from envcheck.render.host_line import host_line

        to_stdout(host_line(host, asked.catalogue, cloud_name(host, matrix, asked.lang)) + "\n")
    else:
        from envcheck.cli.view import cloud_name
        from envcheck.render.probe_text import probe_text

        named = cloud_name(host, matrix, asked.lang)
        to_stdout(probe_text(host, asked.catalogue, verbose=asked.verbose, cloud_name=named))
    return int(ExitCode.READY)
