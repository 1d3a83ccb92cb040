"""`envcheck probe`: the facts only, where they come from, and a recording of them to keep or to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from envcheck.cli.asked import Common
from envcheck.cli.options import common, said
from envcheck.cli.output import json_out, schema_out, to_stderr, to_stdout
from envcheck.cli.world import Visit, load_matrix, visit_host
from envcheck.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix


@click.command("probe")
@click.argument("facts", nargs=-1, metavar="[FACT]...")
@click.option("--explain", is_flag=True, help="Every source asked for each fact, or for those named: `--explain driver libcuda.path`.")
@click.option("--record", callback=said, metavar="DIR", help="Write what was read there, redacted, as a host for --host.")
@click.option("--force", is_flag=True, help="Let --record replace an earlier recording.")
@common()
def command(asked: Common, facts: tuple[str, ...], explain: bool, record: str | None, force: bool) -> int:
    """Show the facts of this host (or of --host), each with its source or the reason why there is none."""
    if asked.schema:
        from envcheck.model.host import SCHEMA, HostReport

        schema_out(SCHEMA, HostReport)
        return int(ExitCode.READY)
    if facts and not explain:
        raise UsageError("error.facts-alone", facts=" ".join(facts))
    if force and not record:
        raise UsageError("error.force-alone")
    matrix = load_matrix(asked)
    visit = visit_host(asked, matrix, record=record is not None, explain=explain)
    if explain:
        from envcheck.probes.explain import explained_report

        visit = replace(visit, report=explained_report(visit.report, visit.before, asked.overrides, facts))
    if record is not None:
        _record(visit, record, force, asked)
    if explain and asked.output != "json":
        _explain(visit, facts, asked)
    else:
        _show(visit, matrix, asked)
    return int(ExitCode.READY)


def _show(visit: Visit, matrix: Matrix, asked: Common) -> None:
    from envcheck.cli.view import cloud_name

    host = visit.report
    if asked.output == "json":
        json_out(host)
        return
    named = cloud_name(host, matrix, asked.lang)
    if asked.quiet:
        from envcheck.render.host_line import host_line

        to_stdout(host_line(host, asked.catalogue, named) + "\n")
    else:
        from envcheck.render.probe_text import probe_text

        to_stdout(probe_text(host, asked.catalogue, verbose=asked.verbose, cloud_name=named))


def _explain(visit: Visit, facts: tuple[str, ...], asked: Common) -> None:
    from envcheck.probes.explain import explained_facts
    from envcheck.render.explain_facts import explain_facts

    found = explained_facts(visit.report, facts, verbose=asked.verbose)
    to_stdout(explain_facts(visit.report, found, asked.catalogue, asked.paint))


def _record(visit: Visit, folder: str, force: bool, asked: Common) -> None:
    """Write the recording and say on standard error what is in it."""
    if visit.recording is None:
        return
    from envcheck.render.record_text import RecordSummary, record_text

    made = visit.recording.write(folder, force=force)
    python = made.redactor.text(asked.python) if asked.python else None
    to_stderr(record_text(RecordSummary(folder, made.files, made.left_out, made.replaced, python), asked.catalogue))
