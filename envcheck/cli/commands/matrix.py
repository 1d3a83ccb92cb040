"""`envcheck matrix`: whether the compatibility facts are in order, and what they say of every release."""

from __future__ import annotations

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode


@click.group("matrix")
def command() -> None:
    """The compatibility facts."""


@command.command("validate", short_help="Check every record of the facts.")
@common(host=False)
def validate(asked: Common) -> int:
    """Check every record of the facts: types, canonical form, references. Exit status 0, or 4 where something is wrong."""
    from envcheck.render.jsonmodel import VALIDATE_SCHEMA, ProblemOut, ValidateOut

    if asked.schema:
        schema_out(VALIDATE_SCHEMA, ValidateOut)
        return int(ExitCode.READY)
    from pathlib import Path

    from envcheck.matrix.locate import date_of, locate
    from envcheck.matrix.validate import validate as problems_of
    from envcheck.render.explain_text import validate_text

    folder = Path(locate(asked.matrix_dir))
    problems = [ProblemOut(problem.file, problem.path, problem.what) for problem in problems_of(folder)]
    answer = ValidateOut(str(folder), date_of(folder), problems)
    _ = json_out(answer) if asked.output == "json" else to_stdout(validate_text(answer, asked.catalogue, asked.paint))
    return int(ExitCode.INVALID_INPUT if problems else ExitCode.READY)


@command.command("show", short_help="Every release of vLLM, with what a host makes of it.")
@click.option("--vllm", callback=said, metavar="SPEC", help="These releases only: `0.19`, `>=0.8,<0.10`.")
@click.option("--here", is_flag=True, help="Judge them on this machine.")
@click.option("--arch", type=click.Choice(["x86_64", "aarch64"]), default="x86_64", help="The wheels of which machine, without a host.")
@common()
def show(asked: Common, vllm: str | None, here: bool, arch: str) -> int:
    """Every release in a line: date, torch, CUDA, engine, Python, advisories, regressions, and whether it runs on the host.

    Without --host, --set or --here the facts alone are shown, and no host is looked at.
    """
    from envcheck.cli.releases import show_releases

    return show_releases(asked, vllm, here=here, arch=arch)
