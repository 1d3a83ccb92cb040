"""`envcheck size MODEL`: where each GiB goes, and the settings that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from envcheck.cli.asked import Common
from envcheck.cli.options import SERVE_SETTINGS, common, own_options, said
from envcheck.cli.output import json_out, schema_out, speaks, to_stdout
from envcheck.errors import ExitCode, UsageError
from envcheck.model.budget import Suggestion

if TYPE_CHECKING:
    from envcheck.cli.sizing import Sized
    from envcheck.matrix.load import Matrix
    from envcheck.model.budget import SizeResult
    from envcheck.model.host import HostReport
    from envcheck.model.request import Request
    from envcheck.render.size_parts import Around, HostMemory
    from envcheck.sizing.question import Question


class Typed(msgspec.Struct, frozen=True):
    """The load as typed: requests at once, tokens of each, or None."""

    requests: int | None
    context: int | None

    @property
    def stated(self) -> bool:
        """Whether a load was asked for."""
        return self.requests is not None or self.context is not None


@click.command("size", context_settings=SERVE_SETTINGS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="MODEL [--SERVE-ARGUMENT VALUE]...")
@click.option("--vllm", callback=said, metavar="SPEC", help="With this vLLM; otherwise the one that `envcheck` would choose.")
@click.option("--gpu", callback=said, metavar="'NAME [xN]'", help="On these GPUs instead of this host's, e.g. 'NVIDIA A10 x2'.")
@click.option("--concurrency", type=click.IntRange(1, 1 << 20), metavar="N", help="Find settings that serve N requests at the same time.")
@click.option("--context", callback=said, metavar="TOKENS", help="Each request with so many tokens, prompt and answer; 8192 or 8K.")
@click.option("--llm-class", is_flag=True, help="With the defaults of the offline `LLM` class instead of those of `vllm serve`.")
@click.option("--warm", is_flag=True, help="A second start: what the first one compiled is cached. Otherwise a fresh host is assumed.")
@click.option("--which-card", is_flag=True, help="Which GPU, and how many, the model and the load need.")
@click.option("--explain", is_flag=True, help="Every figure with its formula, what goes into it, and where that was read.")
@common()
def command(asked: Common, words: tuple[str, ...], vllm: str | None, gpu: str | None, **options: Any) -> int:
    """Size a model (hub id or local folder). Arguments of `vllm serve` may follow it. Exit status 0 fits, 1 does not, 3 unknown."""
    if asked.schema:
        return _schema(options["which_card"])
    from envcheck.cli.serve_args import parse_serve_args
    from envcheck.cli.size_values import check_values, length_of
    from envcheck.cli.world import load_matrix
    from envcheck.model.request import Request

    if not words or words[0].startswith("-"):
        raise UsageError("error.model-first")
    arguments = parse_serve_args(words[1:], own_options(command), lambda: load_matrix(asked).flags)
    check_values(arguments)
    context = options["context"]
    load = Typed(options["concurrency"], length_of("--context", context) if context else None)
    matrix = load_matrix(asked)
    first = False if options["warm"] else None
    request = Request(vllm=vllm, model=words[0], serve_args=arguments, first_start=first, llm_class=options["llm_class"])
    if options["which_card"]:
        if gpu or asked.host:
            raise UsageError("error.which-card-gpu")
        return _which(asked, request, matrix, load)
    return _size(asked, request, matrix, _host(asked, gpu, matrix), load, options["explain"])


def _schema(cards: bool) -> int:
    from envcheck.render.jsonmodel import SIZE_SCHEMA
    from envcheck.render.jsonsize import CARDS_SCHEMA, CardsOut, SizeCommandOut

    schema_out(CARDS_SCHEMA, CardsOut) if cards else schema_out(SIZE_SCHEMA, SizeCommandOut)
    return int(ExitCode.READY)


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
    gpus = known(host.gpus) or ()
    count = len({gpu.name for gpu in gpus}) == 1 and not any(known(gpu.mig) for gpu in gpus) and len(gpus)
    return 0 if spread or not count or count < 2 or result.verdict == "unknown" else count


def _unequal(host: HostReport) -> bool:
    """Whether the host's GPUs are of several models."""
    from envcheck.model.host import known

    return len({gpu.name for gpu in known(host.gpus) or ()}) > 1


def _size(asked: Common, request: Request, matrix: Matrix, host: HostReport, load: Typed, explain: bool) -> int:
    from envcheck.cli.answer import chosen_release, model_of
    from envcheck.cli.exits import of_size
    from envcheck.cli.memory import seen, size
    from envcheck.cli.sizing import Sized

    spec = model_of(request, matrix, asked)
    release, engine = chosen_release(host, matrix, request)
    host = seen(host)
    result = size(host, matrix, request, spec, release.version, engine, explain=explain)
    around = _around(asked, Sized(host, matrix, request, spec, release, engine), result, load)
    if load.stated and around.relief and around.relief.serve_args:
        result = msgspec.structs.replace(result, suggested=Suggestion(around.relief.serve_args, around.relief.why))
    if asked.output == "json":
        from envcheck.render.jsonout import size_out
        from envcheck.render.jsonsize import size_command_out

        json_out(size_command_out(size_out(result, asked.catalogue), around, asked.catalogue))
    else:
        _print(asked, request, host, release.raw, result, around)
    unserved = load.stated and around.relief is not None and not around.relief.served
    return int(ExitCode.BLOCKED) if unserved or around.findings else of_size(result.verdict)


def _around(asked: Common, sized: Sized, result: SizeResult, typed: Typed) -> Around:
    """What else is worth knowing: the load where one was stated or nothing fits; other ways to it only where it is not served."""
    from envcheck.cli import sizing
    from envcheck.render.secret_text import secret_notes
    from envcheck.render.size_parts import Around

    catalogue, question = asked.catalogue, sized.question()
    relief, variants, cards, media, steps = None, [], [], [], []
    load = sizing.load_of(question, typed.requests, typed.context)
    if typed.stated or result.verdict == "does-not-fit":
        relief = sizing.relief_of(sized, question, load)
    if relief is not None and not relief.asked_for:
        variants = sizing.variants_of(sized, question, load)
        cards = sizing.same_cards(sized, question, load)
        media = sizing.media_of(sized, question, load)
    if relief is not None and not typed.stated and relief.serve_args == result.suggested.serve_args and not relief.served:
        steps = sizing.steps_of(question, result)
    failing = result.verdict == "does-not-fit" or (relief is not None and not relief.served)
    note = ""
    if not relief and (spare := _unused(sized.host, sized.request, result)):
        note = catalogue.say("size.one-of", count=spare)
    elif _unequal(sized.host):
        note = catalogue.say("size.unequal", card=question.inputs.card.name or "GPU", count=question.inputs.card.count or 1)
    note = " ".join([*([note] if note else []), *secret_notes(sized.request.serve_args, catalogue)])
    return Around(
        model=sized.spec,
        vllm=sized.release.raw,
        relief=relief,
        findings=sized.findings(),
        variants=tuple(variants),
        cards=tuple(cards),
        claims=tuple(sizing.claims_for(sized, result, catalogue)) if failing or asked.verbose else (),
        media=tuple(media),
        steps=tuple(steps),
        processes=tuple(sizing.others_on_cards(sized.host)),
        second=sizing.second_start(question, result),
        library=sizing.library_batch(question),
        host=_host_memory(sized, question),
        stated=typed.stated,
        note=note,
        fancy=asked.lang == "en" and speaks("zh"),
    )


def _host_memory(sized: Sized, question: Question) -> HostMemory | None:
    settings, engine = question.settings, question.rules.engine
    if settings.gpus == 1 and settings.text_only and engine == "v1" and not settings.offload_gib and not settings.kv_offload_gib:
        return None
    from envcheck.cli.host_memory import host_memory_of

    return host_memory_of(sized, question)


def _print(asked: Common, request: Request, host: HostReport, vllm: str, result: SizeResult, around: Around) -> None:
    from envcheck.render.host_line import gpu_line
    from envcheck.render.size_text import size_text

    catalogue = asked.catalogue
    subject = catalogue.say("size.subject", model=request.model, gpus=gpu_line(host, catalogue), vllm=vllm)
    to_stdout(size_text(result, subject, catalogue, verbose=asked.verbose, brief=asked.quiet, paint=asked.paint, around=around))


def _which(asked: Common, request: Request, matrix: Matrix, typed: Typed) -> int:
    from envcheck.cli.answer import chosen_release, model_of
    from envcheck.cli.memory import sizer_of
    from envcheck.cli.sizing import Sized, load_of
    from envcheck.cli.which_card import candidates
    from envcheck.model.host import HostReport
    from envcheck.sizing.cards_needed import cards_needed

    spec = model_of(request, matrix, asked)
    release, engine = chosen_release(HostReport(), matrix, request)
    question = Sized(HostReport(), matrix, request, spec, release, engine).question()
    load = load_of(question, typed.requests, typed.context)
    known_cards = candidates(matrix, sizer_of(matrix), request, release)
    found = sorted(cards_needed(question, load, known_cards), key=lambda card: (card.count, card.memory_gib, card.name))
    if asked.output == "json":
        from envcheck.render.jsonsize import cards_out

        json_out(cards_out(spec, release.raw, load, found))
    else:
        from envcheck.render.page import Page
        from envcheck.render.size_around import cards_text

        to_stdout(cards_text(Page(asked.catalogue, asked.paint), spec, release.raw, load, found, asked.verbose))
    return int(ExitCode.READY if found else ExitCode.BLOCKED)
