"""`envcheck size MODEL`: where each GiB goes, and the settings that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import SERVE_SETTINGS, common, own_options, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.model.budget import SizeResult
    from envcheck.model.host import HostReport
    from envcheck.model.request import Request


@click.command("size", context_settings=SERVE_SETTINGS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="MODEL [--SERVE-ARGUMENT VALUE]...")
@click.option("--vllm", callback=said, metavar="SPEC", help="With this vLLM; otherwise the one that `envcheck` would choose.")
@click.option("--gpu", callback=said, metavar="'NAME [xN]'", help="On these GPUs instead of this host's, e.g. 'NVIDIA A10 x2'.")
@click.option("--explain", is_flag=True, help="Every figure with its formula, what goes into it, and where that was read.")
@common()
def command(asked: Common, words: tuple[str, ...], vllm: str | None, gpu: str | None, explain: bool) -> int:
    """Size a model (hub id or local folder). Arguments of `vllm serve` may follow it. Exit status 0 fits, 1 does not, 3 unknown."""
    if asked.schema:
        from envcheck.render.jsonmodel import SIZE_SCHEMA, SizeOut

        schema_out(SIZE_SCHEMA, SizeOut)
        return int(ExitCode.READY)
    from envcheck.cli.serve_args import parse_serve_args
    from envcheck.cli.world import load_matrix
    from envcheck.model.request import Request

    if not words or words[0].startswith("-"):
        raise UsageError("error.model-first")
    matrix = load_matrix(asked)
    request = Request(vllm=vllm, model=words[0], serve_args=parse_serve_args(words[1:], own_options(command)))
    return _size(asked, request, matrix, _host(asked, gpu, matrix), explain)


def _host(asked: Common, gpu: str | None, matrix: Matrix) -> HostReport:
    if gpu is None:
        from envcheck.cli.world import load_host

        return load_host(asked, matrix)
    if asked.host:
        raise UsageError("error.gpu-and-host")
    from envcheck.cli.cards import host_of_cards

    return host_of_cards(gpu, matrix)


def _unused(host: HostReport, request: Request, result: SizeResult) -> int:
    """The GPUs of the host where the model is sized for one of them and several would share it; 0 where that is not so."""
    from envcheck.model.host import known

    spread = {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"} & {*request.serve_args, *result.suggested.serve_args}
    count = len(known(host.gpus) or ())
    return 0 if spread or count < 2 or result.verdict == "unknown" else count


def _size(asked: Common, request: Request, matrix: Matrix, host: HostReport, explain: bool) -> int:
    from envcheck.cli.answer import chosen_release, model_of
    from envcheck.cli.memory import size

    spec = model_of(request, matrix, asked)
    release, engine = chosen_release(host, matrix, request)
    result = size(host, matrix, request, spec, release.version, engine, explain=explain)
    if asked.output == "json":
        from envcheck.render.jsonout import size_out

        json_out(size_out(result, asked.catalogue))
    else:
        from envcheck.render.host_line import gpu_line
        from envcheck.render.size_text import size_text

        catalogue = asked.catalogue
        subject = catalogue.say("size.subject", model=request.model, gpus=gpu_line(host, catalogue), vllm=release.raw)
        note = catalogue.say("size.one-of", count=spare) if (spare := _unused(host, request, result)) else ""
        to_stdout(size_text(result, subject, catalogue, verbose=asked.verbose, brief=asked.quiet, note=note, paint=asked.paint))
    from envcheck.cli.exits import of_size

    return of_size(result.verdict)
