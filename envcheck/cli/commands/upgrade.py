"""`envcheck upgrade --from V --to V`: what changes between two releases for this host and command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import SERVE_SETTINGS, common, own_options, said
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envcheck.matrix.load import Matrix
    from envcheck.matrix.release import Release
    from envcheck.model.budget import SizeResult
    from envcheck.model.finding import Finding
    from envcheck.model.host import HostReport
    from envcheck.model.modelspec import ModelSpec
    from envcheck.model.request import Request
    from envcheck.planning.upgrade import Upgrade
    from envcheck.planning.upgrade_memory import MemoryChange


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
    from envcheck.cli.answer import model_of
    from envcheck.cli.cards import host_of_cards
    from envcheck.cli.memory import sizer_of
    from envcheck.cli.serve_args import parse_serve_args
    from envcheck.cli.world import load_host, load_matrix
    from envcheck.model.request import Request
    from envcheck.planning.upgrade import said_otherwise, upgrade

    if old is None:
        raise UsageError("error.upgrade-from")
    if gpu and asked.host:
        raise UsageError("error.gpu-and-host")
    matrix = load_matrix(asked)
    host = host_of_cards(gpu, matrix) if gpu else load_host(asked, matrix)
    before, after = matrix.matching(old)[0], matrix.matching(new)[0] if new else matrix.releases[0]
    request = Request(model=model, serve_args=parse_serve_args(words, own_options(command), lambda: matrix.flags))
    spec = model_of(request, matrix, asked) if model else None
    names = _architectures(spec, matrix)
    found = upgrade(matrix, before, after, sizer_of(matrix).card(host), request.serve_args, names, _method(spec))
    found = said_otherwise(matrix, after, found, words)
    memory = _memory(host, matrix, request, spec, found, before, after) if spec else None
    here = _findings(host, matrix, after)
    if asked.output == "json":
        json_out(upgrade_out(found, memory, here, asked.catalogue))
    else:
        name = spec.name if spec else None
        to_stdout(upgrade_text(found, memory, here, asked.catalogue, verbose=asked.verbose, paint=asked.paint, model=name))
    return int(ExitCode.READY)


def _findings(host: HostReport, matrix: Matrix, after: Release) -> list[Finding]:
    """What the target's default wheel meets on this host; its advisories are told apart."""
    from envcheck.model.finding import Severity
    from envcheck.model.request import Request
    from envcheck.rules.check import judge

    found = judge(host, matrix, Request(vllm=after.raw), remedies=False).findings
    return [one for one in found if one.severity is not Severity.INFO and one.code != "release-vulnerable"]


def _architectures(spec: ModelSpec | None, matrix: Matrix) -> tuple[str, ...] | None:
    """What a model's configuration names, else what all catalogued models of its type are; none where that is not one thing."""
    from envcheck.rules.architecture import architectures

    if spec is None:
        return None
    named, kind = architectures(spec.config), spec.config.get("model_type")
    if named or not isinstance(kind, str):
        return named
    alike = {found for card in matrix.models.values() if card.config.get("model_type") == kind and (found := architectures(card.config))}
    return alike.pop() if len(alike) == 1 else ()


def _method(spec: ModelSpec | None) -> str | None:
    """The quantization method that a model's configuration names."""
    told = spec.config.get("quantization_config") if spec else None
    method = told.get("quant_method") if isinstance(told, dict) else None
    return method if isinstance(method, str) else None


def _memory(
    host: HostReport, matrix: Matrix, request: Request, spec: ModelSpec, found: Upgrade, before: Release, after: Release
) -> MemoryChange:
    """The model on one release and on the other, each with the engine that it takes by itself and the arguments as it takes them."""
    from msgspec.structs import replace

    from envcheck.cli.memory import size, sizer_of
    from envcheck.cli.serve_args import parse_serve_args
    from envcheck.planning.fallback import engine_with
    from envcheck.planning.upgrade_memory import memory_change

    card = sizer_of(matrix).card(host)

    def sized(release: Release, arguments: Mapping[str, Any]) -> SizeResult:
        return size(
            host, matrix, replace(request, serve_args=dict(arguments)), spec, release.version, engine_with(matrix, release, card, arguments)
        )

    return memory_change(found, sized, before, after, request.serve_args, parse_serve_args(found.command, (), lambda: matrix.flags))
