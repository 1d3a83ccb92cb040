"""The plan as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Severity
from envcheck.model.plan import PLAN_SCHEMA, EngineUse, InstallRecipe, MirrorChoice, Plan
from envcheck.model.request import Request
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.planning.advised import advisory_notes, held_back
from envcheck.planning.install import recipes
from envcheck.planning.interpreter import interpreter_notes, lacks_headers
from envcheck.planning.kernels import kernel_notes, missing_kernels
from envcheck.planning.mirrors import choose_mirrors, mirror_url
from envcheck.planning.stack import StackChoice, choose_stack
from envcheck.rules.check import Judgement
from envcheck.rules.situation import text

if TYPE_CHECKING:
    from envcheck.matrix.toolchain import KernelCompilation
    from envcheck.model.budget import SizeResult
    from envcheck.model.modelspec import ModelSpec

DIRECTORY = "vllm-env"  # the fresh virtual environment, beside where the commands are typed


def make_plan(
    judgement: Judgement,
    matrix: Matrix,
    request: Request,
    *,
    choice: StackChoice | None = None,
    spec: ModelSpec | None = None,
    size: SizeResult | None = None,
    directory: str = DIRECTORY,
) -> Plan:
    """The plan for a judged host; `choice` where it has been made already, `spec` and `size` where a model is to be served.

    Ways are looked for unless the choice has them, or something runs and whoever made the choice wanted none.
    """
    chosen, situation = choice or choose_stack(judgement, matrix, request), judgement.situation
    if chosen.ways is None and (choice is None or chosen.stack is None):
        from envcheck.planning.ways.enumerate import with_ways  # noqa: PLC0415  # a host where all is well never needs it

        chosen = with_ways(chosen, judgement, matrix, request, directory)
    wanted = chosen.wanted
    mirrors = choose_mirrors(situation, matrix, wanted)
    fresh = None if chosen.installed else wanted
    kernels = missing_kernels(situation, matrix, wanted, installed=chosen.installed)
    engine = _engine(judgement, matrix, request, chosen, spec, size)
    serve = None
    if spec:
        from envcheck.planning.serve import Facts, serve_config  # noqa: PLC0415  # only for a model

        facts = Facts(matrix, chosen.release or "", situation)
        serve = serve_config(spec, size, mirrors, kernels, facts, request.serve_args)
    return Plan(
        schema=PLAN_SCHEMA,
        stack=chosen.stack,
        alternatives=chosen.alternatives,
        ways_out=chosen.ways_out,
        not_possible=chosen.not_possible,
        mirrors=mirrors,
        install=_install(judgement, matrix, fresh, mirrors, directory),
        serve=serve,
        size=size,
        findings=tuple(finding for finding in judgement.findings if _belongs(finding)),
        environment_dir=directory,
        notes=(
            *_notes(chosen, wanted, judgement, matrix, bool(mirrors)),
            *((engine.why,) if engine and engine.told else ()),
            *(interpreter_notes(situation, fresh, judgement.findings, mirror_url(mirrors, "python-index")) if fresh else ()),
            *(_kernel_notes(judgement, kernels, wanted, served=spec is not None) if wanted else ()),
            *(serve.notes if serve else ()),
        ),
        ways=chosen.ways or (),
        choice=chosen.reasons,
        engine=engine,
    )


def _engine(
    judgement: Judgement, matrix: Matrix, request: Request, choice: StackChoice, spec: ModelSpec | None, size: SizeResult | None
) -> EngineUse | None:
    """The engine of the release that is planned, with the arguments that are."""
    release = matrix.release(choice.release) if choice.release else None
    if release is None:
        return None
    from envcheck.planning.serving.engine import engine_use  # noqa: PLC0415  # only where something is planned

    arguments = {**request.serve_args, **(size.suggested.serve_args if size else {})}
    return engine_use(judgement.situation, matrix, release, spec, arguments)


def _install(
    judgement: Judgement, matrix: Matrix, stack: Stack | None, mirrors: tuple[MirrorChoice, ...], directory: str
) -> tuple[InstallRecipe, ...]:
    if stack is None:
        return ()
    situation = judgement.situation
    executable = text(situation.host.python, "executable") or None
    return recipes(stack, matrix, mirrors, directory, executable, managed=lacks_headers(situation, stack))


def _kernel_notes(judgement: Judgement, kernels: tuple[KernelCompilation, ...], stack: Stack, *, served: bool) -> Iterator[Text]:
    """Nothing where a finding says it already."""
    if not any(finding.code == "nvcc-missing-for-jit" for finding in judgement.findings):
        yield from kernel_notes(kernels, stack.vllm, served=served)


def _belongs(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO


def _notes(choice: StackChoice, stack: Stack | None, judgement: Judgement, matrix: Matrix, mainland: bool) -> Iterator[Text]:
    if choice.installed and choice.stack:
        yield Text("plan.note.installed", {"vllm": choice.stack.vllm})
    if stack is not None and choice.stack is None:
        yield Text("plan.note.way-out", {"vllm": f"{stack.vllm}+{stack.variant}" if stack.variant else stack.vllm})
    if stack is not None and stack.url and mainland:
        yield Text("plan.note.github", {"url": stack.url})
    if stack is not None and not choice.installed and held_back(stack, judgement, matrix):
        yield from advisory_notes(stack, choice.alternatives)
    release = matrix.release(stack.vllm) if stack else None
    if release is not None and matrix.later_posts(release):
        yield Text("plan.note.later-post", {"vllm": release.raw, "later": matrix.later_posts(release)[0].raw})
