"""`envcheck defaults`: the defaults of a release on a GPU as they take effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from envcheck.planning.effective import Context


@click.command("defaults")
@click.option("--vllm", callback=said, metavar="SPEC", help="Of this vLLM; otherwise the newest.")
@click.option("--gpu", callback=said, metavar="NAME", help="On this GPU instead of this host's.")
@click.option("--context", type=click.Choice(["api-server", "llm-class"]), default="api-server", help="`vllm serve`, or the LLM class.")
@common()
def command(asked: Common, vllm: str | None, gpu: str | None, context: Context) -> int:
    """Show the defaults of a release on a GPU as they take effect, each with its releases and the reason."""
    from envcheck.render.defaults_text import DEFAULTS_SCHEMA, DefaultsOut, defaults_out, defaults_text

    if asked.schema:
        schema_out(DEFAULTS_SCHEMA, DefaultsOut)
        return int(ExitCode.READY)
    from envcheck.cli.cards import host_of_cards
    from envcheck.cli.memory import sizer_of
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.planning.effective import effective

    if gpu and asked.host:
        raise UsageError("error.gpu-and-host")
    matrix = load_matrix(asked)
    host = host_of_cards(gpu, matrix) if gpu else load_host(asked, matrix)
    release = matrix.matching(vllm)[0] if vllm else matrix.releases[0]
    found = effective(matrix, release, sizer_of(matrix).card(host), context)
    if asked.output == "json":
        json_out(defaults_out(found, asked.catalogue))
    else:
        to_stdout(defaults_text(found, asked.catalogue, asked.paint))
    return int(ExitCode.READY)
