"""`envcheck upgrade --from V --to V`: what changes between two releases for this host and command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import SERVE_SETTINGS, common, own_options, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.matrix.release import Release
    from envcheck.model.host import HostReport
    from envcheck.model.request import Request


@click.command("upgrade", context_settings=SERVE_SETTINGS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- --SERVE-ARGUMENT VALUE...]")
@click.option("--from", "old", callback=said, metavar="SPEC", help="The vLLM that runs now.")
@click.option("--to", "new", callback=said, metavar="SPEC", help="The vLLM to move to; otherwise the newest.")
@click.option("--model", callback=said, metavar="MODEL", help="Also say what changes in the memory of this model.")
@click.option("--gpu", callback=said, metavar="NAME", help="On this GPU instead of this host's.")
@common()
def command(asked: Common, words: tuple[str, ...], old: str | None, new: str | None, model: str | None, gpu: str | None) -> int:
    """Show what changes between two releases, and the command line for the newer one. Arguments of `vllm serve` may follow `--`."""
    from envcheck.render.upgrade_text import UPGRADE_SCHEMA, UpgradeOut, upgrade_out, upgrade_text

    if asked.schema:
        schema_out(UPGRADE_SCHEMA, UpgradeOut)
        return int(ExitCode.READY)
    from envcheck.cli.cards import host_of_cards
    from envcheck.cli.memory import sizer_of
    from envcheck.cli.serve_args import parse_serve_args
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.model.request import Request
    from envcheck.planning.upgrade import upgrade

    if old is None:
        raise UsageError("error.upgrade-from")
    if gpu and asked.host:
        raise UsageError("error.gpu-and-host")
    matrix = load_matrix(asked)
    host = host_of_cards(gpu, matrix) if gpu else load_host(asked, matrix)
    before, after = matrix.matching(old)[0], matrix.matching(new)[0] if new else matrix.releases[0]
    request = Request(model=model, serve_args=parse_serve_args(words, own_options(command)))
    found = upgrade(matrix, before, after, sizer_of(matrix).card(host), request.serve_args)
    kv = (_kv(asked, host, matrix, request, before), _kv(asked, host, matrix, request, after)) if model else None
    if asked.output == "json":
        json_out(upgrade_out(found, kv, asked.catalogue))
    else:
        to_stdout(upgrade_text(found, kv, asked.catalogue, verbose=asked.verbose, paint=asked.paint))
    return int(ExitCode.READY)


def _kv(asked: Common, host: HostReport, matrix: Matrix, request: Request, release: Release) -> float | None:
    """GiB of one GPU left for the KV cache with a release's defaults and the arguments given."""
    from envcheck.cli.answer import model_of
    from envcheck.cli.memory import size

    return size(host, matrix, request, model_of(request, matrix, asked), release.version, None).per_gpu_gib.kv_cache
