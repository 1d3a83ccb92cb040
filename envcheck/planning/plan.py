"""The plan as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.budget import SizeResult
from envcheck.model.finding import Finding, Severity
from envcheck.model.modelspec import ModelSpec
from envcheck.model.plan import PLAN_SCHEMA, Plan, Stack
from envcheck.model.request import Request
from envcheck.model.text import Text
from envcheck.planning.advised import held_back
from envcheck.planning.install import recipes
from envcheck.planning.mirrors import choose_mirrors
from envcheck.planning.serve import serve_config
from envcheck.planning.stack import StackChoice, choose_stack
from envcheck.rules.check import Judgement
from envcheck.rules.situation import text

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
    """The plan for a judged host; `choice` where it has been made already, `spec` and `size` where a model is to be served."""
    chosen = choice or choose_stack(judgement, matrix, request)
    wanted = chosen.stack or (chosen.ways_out[0] if chosen.ways_out else None)
    mirrors = choose_mirrors(judgement.situation, matrix, wanted)
    executable = text(judgement.situation.host.python, "executable") or None
    install = () if wanted is None or chosen.installed else recipes(wanted, matrix, mirrors, directory, executable)
    return Plan(
        schema=PLAN_SCHEMA,
        stack=chosen.stack,
        alternatives=chosen.alternatives,
        ways_out=chosen.ways_out,
        not_possible=chosen.not_possible,
        mirrors=mirrors,
        install=install,
        serve=serve_config(spec, size, mirrors) if spec else None,
        size=size,
        findings=tuple(finding for finding in judgement.findings if _belongs(finding)),
        environment_dir=directory,
        notes=tuple(_notes(chosen, wanted, matrix, request, bool(mirrors))),
    )


def _belongs(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO


def _notes(choice: StackChoice, stack: Stack | None, matrix: Matrix, request: Request, mainland: bool) -> Iterator[Text]:
    if choice.installed and choice.stack:
        yield Text("plan.note.installed", {"vllm": choice.stack.vllm})
    if stack is not None and choice.stack is None:
        yield Text("plan.note.way-out", {"vllm": f"{stack.vllm}+{stack.variant}" if stack.variant else stack.vllm})
    if stack is not None and stack.url and mainland:
        yield Text("plan.note.github", {"url": stack.url})
    if stack is not None and not choice.installed and held_back(stack, matrix, request):
        yield _advisories(stack)
    release = matrix.release(stack.vllm) if stack else None
    if release is not None and matrix.later_posts(release):
        yield Text("plan.note.later-post", {"vllm": release.raw, "later": matrix.later_posts(release)[0].raw})
    if stack is not None and stack.engine == "v0":
        yield Text("plan.note.v0", {"vllm": stack.vllm})


def _advisories(stack: Stack) -> Text:
    found = stack.advisories
    grave, gravest = (found.grave, found.gravest) if found else (0, None)
    return Text("plan.note.advisories", {"vllm": stack.vllm, "grave": grave, "gravest": gravest})
