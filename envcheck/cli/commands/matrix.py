"""`envcheck matrix validate`: whether the compatibility facts are in order."""

from __future__ import annotations

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common
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
