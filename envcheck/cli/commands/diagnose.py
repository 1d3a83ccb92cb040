"""`envcheck diagnose LOG…`: a failing log to its cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click
import msgspec

from envcheck.cli.asked import Common
from envcheck.cli.options import common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import CannotTellError, ExitCode, UsageError

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.model.diagnosis import Diagnosis, Seen

_LIMIT = 1 << 50  # bytes: a log may be as long as it is, memory does not grow with it
_PAUSE_S = 0.5
_STATUS = {"cause": ExitCode.BLOCKED, "unknown": ExitCode.UNKNOWN, "nothing": ExitCode.READY}


@click.command("diagnose")
@click.argument("logs", nargs=-1, metavar="[LOG...|-]")
@click.option("-f", "--follow", is_flag=True, help="Go on reading as the log grows, and say each cause when it comes.")
@common(host=False, formats=("text", "json", "markdown"))
def command(asked: Common, logs: tuple[str, ...], follow: bool) -> int:
    """Find the first cause of a failure in logs of vLLM, installers, containers, the kernel. LOG may be gzip; `-` is standard input.

    Several files are read as one log, in the order given. Exit status: 0 nothing wrong, 1 cause found, 3 failure not understood.
    """
    if asked.schema:
        from envcheck.render.jsonlog import DIAGNOSIS_SCHEMA, DiagnosisOut

        schema_out(DIAGNOSIS_SCHEMA, DiagnosisOut)
        return int(ExitCode.READY)
    from envcheck.cli.world import load_matrix

    matrix = load_matrix(asked)
    if follow:
        return _follow(asked, logs, matrix)
    found = _diagnosed(logs or ("-",), matrix)
    _say(found, asked)
    return int(_STATUS[found.status])


def _say(found: Diagnosis, asked: Common) -> None:
    if asked.output == "json":
        from envcheck.render.jsonlog import diagnosis_out

        json_out(diagnosis_out(found, asked.catalogue))
        return
    from envcheck.render.diagnosis_text import diagnosis_markdown, diagnosis_text

    if asked.output == "markdown":
        to_stdout(diagnosis_markdown(found, asked.catalogue))
    else:
        to_stdout(diagnosis_text(found, asked.catalogue, asked.paint, verbose=asked.verbose, brief=asked.quiet))


def _diagnosed(names: tuple[str, ...], matrix: Matrix) -> Diagnosis:
    """All logs as one, in the order given; the lines named with the file they stand in, where there are several."""
    from envcheck.diagnosis.causes import diagnosis_of
    from envcheck.diagnosis.index import index_of
    from envcheck.diagnosis.scan import Scanner
    from envcheck.readers.log_stream import log_chunks
    from envcheck.system.secret_values import redacted_line

    scanner, starts = Scanner(index_of(matrix), redacted_line), list[tuple[int, str]]()
    with ExitStack() as files:
        for name in names:
            starts.append((scanner.scan.lines, name))
            last = b"\n"
            for block in log_chunks(_reader(name, files), _LIMIT):
                scanner.feed(block)
                last = block[-1:]
            if last != b"\n":
                scanner.feed(b"\n")
    found = diagnosis_of(scanner.close(), matrix)
    if len(names) == 1:
        return found
    replace = msgspec.structs.replace
    return replace(
        found, seen=tuple(_located(seen, starts) for seen in found.seen), telling=tuple(_located(seen, starts) for seen in found.telling)
    )


def _located(seen: Seen, starts: list[tuple[int, str]]) -> Seen:
    before, name = next((start, name) for start, name in reversed(starts) if start < seen.number)
    return msgspec.structs.replace(seen, number=seen.number - before, file=name)


def _reader(name: str, files: ExitStack) -> Callable[[int], bytes]:
    from envcheck.cli.world import standard_input

    if name == "-":
        return standard_input().read1
    try:
        read = files.enter_context(open(name, "rb")).read  # noqa: SIM115  # closed by the stack
    except FileNotFoundError:
        raise UsageError("error.file-not-found", name=name) from None
    except OSError as error:
        raise CannotTellError("error.file-unreadable", name=name, why=str(error.strerror)) from None
    return read


def _follow(asked: Common, logs: tuple[str, ...], matrix: Matrix) -> int:
    """Say each cause once, when it comes, until interrupted or the input ends."""
    from envcheck.diagnosis.causes import diagnosis_of
    from envcheck.diagnosis.index import index_of
    from envcheck.diagnosis.scan import Scanner
    from envcheck.system.secret_values import redacted_line

    if len(logs) > 1:
        raise UsageError("error.follow-one")
    scanner, said = Scanner(index_of(matrix), redacted_line), set[str]()
    with ExitStack() as files:
        for block in _growing((logs or ("-",))[0], files):
            scanner.feed(block)
            found = diagnosis_of(scanner.scan, matrix)
            new = found.status == "cause" and found.findings[0].code not in said
            if new:
                said.add(found.findings[0].code)
                _say(found, asked)
    return int(_STATUS[diagnosis_of(scanner.close(), matrix).status])


def _growing(name: str, files: ExitStack) -> Iterator[bytes]:
    """The bytes of a file as they come; standard input ends where it ends."""
    from time import sleep

    read = _reader(name, files)
    while True:
        block = read(1 << 16)
        if block:
            yield block
        elif name == "-":
            return
        else:
            sleep(_PAUSE_S)
