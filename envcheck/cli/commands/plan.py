"""`envcheck plan`: the way to a running server, and its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import SERVE_SETTINGS, common, own_options, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.cli.wishes import Wishes, wishes
from envcheck.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.model.plan import Plan
    from envcheck.model.report import CheckReport


@click.command("plan", context_settings=SERVE_SETTINGS)
@click.argument("serve_words", nargs=-1, type=click.UNPROCESSED, metavar="[--SERVE-ARGUMENT VALUE]...")
@click.option("--vllm", callback=said, metavar="SPEC", help="Plan this vLLM: a release, `0.19`, `>=0.8,<0.10` or `latest`.")
@click.option("--model", callback=said, metavar="NAME", help="The model to serve: hub id or local folder.")
@click.option("-o", "--output", "folder", callback=said, metavar="DIR", help="Write the scripts and plan.json there (run.sh for an image).")
@click.option("--force", is_flag=True, help="Write over scripts there that were changed by hand.")
@click.option("--prompt-tokens", type=click.IntRange(1, 10**9), metavar="N", help="Tokens of the longest prompt: what fits beside it.")
@click.option("--output-tokens", type=click.IntRange(1, 10**9), metavar="N", help="Tokens wanted of an answer: how long a prompt may be.")
@wishes
@common()
def command(
    asked: Common,
    *,
    serve_words: tuple[str, ...],
    vllm: str | None,
    model: str | None,
    folder: str | None,
    force: bool,
    prompt_tokens: int | None,
    output_tokens: int | None,
    wished: Wishes,
) -> int:
    """Plan the install and the serve command for this host (or --host). Arguments of `vllm serve` may follow; they are kept."""
    if asked.schema:
        from envcheck.model.plan import PLAN_SCHEMA
        from envcheck.render.jsonmodel import WRITTEN_SCHEMA, PlanOut, WrittenOut

        _ = schema_out(WRITTEN_SCHEMA, WrittenOut) if folder else schema_out(PLAN_SCHEMA, PlanOut)
        return int(ExitCode.READY)
    from envcheck.cli.answer import answer
    from envcheck.cli.serve_args import parse_serve_args
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.model.plan import Tokens
    from envcheck.model.request import Request

    tokens = Tokens(prompt_tokens, output_tokens)
    serve_args = parse_serve_args(serve_words, own_options(command), lambda: load_matrix(asked).flags)
    if (serve_args or tokens.stated) and not model:
        raise UsageError("error.no-model")
    matrix = load_matrix(asked)
    request = wished.on(Request(vllm=vllm, model=model, serve_args=serve_args))
    report = answer(load_host(asked, matrix), matrix, request, asked, ways=True, tokens=tokens)
    if report.plan is None:
        return int(ExitCode.UNKNOWN)
    report, plan = _with_words(report, report.plan, matrix, serve_words)
    if folder:
        _write(report, plan, f"./{folder}" if folder.startswith("-") else folder, asked, force=force)
    else:
        _show(report, plan, asked)
    from envcheck.cli.exits import of_plan

    return of_plan(report)


def _with_words(report: CheckReport, plan: Plan, matrix: Matrix, typed: tuple[str, ...]) -> tuple[CheckReport, Plan]:
    """The plan with a note for each word that switches something off and that the release calls otherwise."""
    release = matrix.release((plan.stack.vllm if plan.stack else report.vllm) or "")
    if plan.serve is None or release is None or not any(word.startswith(("--no-", "--no_", "--disable")) for word in typed):
        return report, plan
    from msgspec.structs import replace

    from envcheck.planning.other_words import other_words

    notes = other_words(matrix.flags, release, typed, [word for setting in plan.serve.settings for word in setting.words])
    plan = replace(plan, notes=(*plan.notes, *notes))
    return replace(report, plan=plan), plan


def _show(report: CheckReport, plan: Plan, asked: Common) -> None:
    if asked.output == "json":
        from envcheck.render.jsonout import plan_out

        json_out(plan_out(plan, asked.catalogue))
    else:
        from envcheck.render.plan_text import Doubt, plan_text

        doubt = Doubt(report.undecided, report.host)
        to_stdout(plan_text(plan, asked.catalogue, verbose=asked.verbose, brief=asked.quiet, doubt=doubt, paint=asked.paint))


def _write(report: CheckReport, plan: Plan, folder: str, asked: Common, *, force: bool) -> None:
    from envcheck import __version__
    from envcheck.cli.written import write_files
    from envcheck.render.files import plan_files
    from envcheck.render.plan_text import Doubt, written_text

    catalogue = asked.catalogue
    paths = write_files(folder, plan_files(plan, catalogue, __version__), force=force)
    if asked.output == "json":
        from envcheck.render.jsonmodel import WrittenOut

        json_out(WrittenOut(paths))
    elif not asked.quiet:
        to_stdout(written_text(plan, paths, catalogue, asked.paint, Doubt(report.undecided, report.host)))
