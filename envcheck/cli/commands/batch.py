"""`envcheck batch`: many questions, one JSON object a line in, one out, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common
from envcheck.cli.output import schema_out, to_stdout
from envcheck.errors import CannotTellError, ExitCode, UsageError

if TYPE_CHECKING:
    from io import BufferedReader

    from envcheck.cli.batch_answer import Answerer


@click.command("batch")
@click.argument("file", default="-", metavar="[FILE|-]")
@common(host=False)
def command(asked: Common, file: str) -> int:
    """Answer questions given as NDJSON. A line that cannot be answered yields its id and an error, and the status 4 at the end."""
    if asked.schema:
        from envcheck.render.jsonmodel import BATCH_SCHEMA, BatchError, BatchOut

        schema_out(BATCH_SCHEMA, BatchOut, BatchError)
        return int(ExitCode.READY)
    from envcheck.cli.batch_answer import Answerer
    from envcheck.cli.world import load_matrix, standard_input

    answerer = Answerer(load_matrix(asked), asked.catalogue)
    if file == "-":
        return _answer_all(standard_input(), answerer)
    try:
        with open(file, "rb") as stream:
            return _answer_all(stream, answerer)
    except FileNotFoundError:
        raise UsageError("error.file-not-found", name=file) from None
    except OSError as error:
        raise CannotTellError("error.file-unreadable", name=file, why=str(error.strerror)) from None


def _answer_all(stream: BufferedReader, answerer: Answerer) -> int:
    """Answer until the end of input, or until nobody reads the answers; they go out after each arrival, so a pausing pipe gets its own."""
    import gc

    import msgspec

    from envcheck.cli.lines import LINE_LIMIT, groups
    from envcheck.render.jsonmodel import BatchError

    gc.enable()  # a batch may be without end
    encoder = msgspec.json.Encoder()
    failed = False
    number = 0
    for group in groups(stream.read1, LINE_LIMIT):
        answers = []
        for line in group:
            number += 1
            if line is None or line.strip():
                answer = answerer.answer(line, number)
                failed = failed or isinstance(answer, BatchError)
                answers.append(answer)
        if not to_stdout(encoder.encode_lines(answers)):
            break
    return int(ExitCode.INVALID_INPUT if failed else ExitCode.READY)
