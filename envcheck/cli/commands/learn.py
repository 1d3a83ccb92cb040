"""`envcheck learn LOG…`: start-up logs to measured records of memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import common, said
from envcheck.cli.output import json_out, schema_out, to_stderr, to_stdout
from envcheck.errors import CannotTellError, ExitCode, UsageError, cannot_write

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.model.learned import Learned, LearnedRun
    from envcheck.model.loglines import LogLinesFile
    from envcheck.readers.startup_log import StartupLog

_RECORDS_LIMIT = 64 << 20  # bytes of a file of records that is added to


@click.command("learn")
@click.argument("logs", nargs=-1, metavar="LOG...")
@click.option("--gpu", callback=said, metavar="NAME", help="The GPU, where the log does not name it.")
@click.option("--model", callback=said, metavar="MODEL", help="The model, where the log has only a path of it.")
@click.option("--output", "target", callback=said, metavar="FILE", help="Add the records to this file; it is made where there is none.")
@common(host=False)
def command(asked: Common, logs: tuple[str, ...], gpu: str | None, model: str | None, target: str | None) -> int:
    """Read what start-up logs of vLLM tell of memory: a measured record for each start. LOG may be gzip; `-` is standard input."""
    from envcheck.model.learned import LEARNED_SCHEMA, Learned

    if asked.schema:
        schema_out(LEARNED_SCHEMA, Learned)
        return int(ExitCode.READY)
    if not logs:
        raise UsageError("error.learn-no-log")
    from envcheck.cli.world import load_matrix

    matrix = load_matrix(asked)
    facts, gpu = matrix.log_lines, _card(gpu, matrix) if gpu else None
    runs: list[LearnedRun] = []
    unread: list[str] = []
    for name in logs:
        found = _read(name, facts).runs
        runs += [_completed(run, gpu, model) for run in found]
        unread += [] if found else [_shown(name)]
    learned = Learned(runs, unread)
    if target is not None:
        _add(target, learned, asked)
    if asked.output == "json":
        json_out(learned)
    elif not asked.quiet:
        from envcheck.render.learned_text import learned_text

        to_stdout(learned_text(learned, asked.catalogue, asked.paint, verbose=asked.verbose))
    return int(ExitCode.UNKNOWN if unread or not runs else ExitCode.READY)


def _card(text: str, matrix: Matrix) -> str:
    """The GPU by its name, as `envcheck size` takes it; each record is of one. Raises UsageError for one that is not known."""
    from envcheck.cli.cards import host_of_cards
    from envcheck.model.host import known

    names = [gpu.name if isinstance(gpu.name, str) else text[:100] for gpu in known(host_of_cards(text, matrix).gpus) or ()]
    if len(names) != 1:
        raise UsageError("error.learn-one-gpu", text=text[:100], name=names[0] if names else text[:100])
    return names[0]


def _completed(run: LearnedRun, gpu: str | None, model: str | None) -> LearnedRun:
    """The record with what was said on the command line: the GPU where the log has none, the model in place of a path."""
    import msgspec

    from envcheck.readers.learned_run import missing

    run = msgspec.structs.replace(run, gpu=run.gpu or gpu, model=model or run.model)
    return msgspec.structs.replace(run, missing=missing(run))


def _shown(name: str) -> str:
    """How records call a log: without the folders, which name people."""
    return "-" if name == "-" else os.path.basename(name)[:200]


def _read(name: str, facts: LogLinesFile) -> StartupLog:
    """The starts in a log; it is read a piece at a time, however long it is."""
    from envcheck.cli.world import standard_input
    from envcheck.readers.log_stream import log_chunks
    from envcheck.readers.startup_log import read_startup_log

    try:
        if name == "-":
            return read_startup_log(log_chunks(standard_input().read), facts, "-")
        with open(name, "rb") as file:
            return read_startup_log(log_chunks(file.read), facts, _shown(name))
    except FileNotFoundError:
        raise UsageError("error.learn-not-found", name=name) from None
    except (OSError, ValueError) as error:
        raise CannotTellError("error.file-unreadable", name=name, why=str(getattr(error, "strerror", None) or error)) from None


def _add(target: str, learned: Learned, asked: Common) -> None:
    """Add the records to those of an earlier run, each once; a file that holds no records is left alone."""
    import msgspec

    from envcheck.cli.world import read_bounded
    from envcheck.model.learned import Learned

    before = Learned([])
    if os.path.lexists(target):
        try:
            before = msgspec.json.decode(read_bounded(target, _RECORDS_LIMIT), type=Learned)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise UsageError("error.foreign-file", path=target) from None
        if before.schema != learned.schema:
            raise UsageError("error.foreign-file", path=target)
    new = [run for run in learned.runs if run not in before.runs]
    _replace(target, msgspec.json.format(msgspec.json.encode(Learned([*before.runs, *new])), indent=2) + b"\n")
    to_stderr(asked.catalogue.say("learn.written", count=len(new), path=target) + "\n")


def _replace(target: str, content: bytes) -> None:
    """Beside it first, then renamed into place, so that a reader sees the old file or the new one."""
    draft = f"{target}.{os.getpid()}.new"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
        os.replace(draft, target)
    except OSError as error:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise cannot_write(target, error) from None
