"""From a host and a request to a report: judge, choose the stack, size the model, plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcheck.cli.asked import Common
from envcheck.model.host import HostReport, known
from envcheck.model.report import CheckReport
from envcheck.model.request import Request

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.matrix.release import Release
    from envcheck.model.budget import SizeResult
    from envcheck.model.modelspec import ModelSpec
    from envcheck.model.plan import Plan, Tokens
    from envcheck.planning.stack import StackChoice
    from envcheck.rules.check import Judgement
    from envcheck.system.store import Store


def answer(
    host: HostReport, matrix: Matrix, request: Request, asked: Common, *, ways: bool = False, tokens: Tokens | None = None
) -> CheckReport:
    """The report of one host; `ways` = with all ways, also where something runs as it is; `tokens` = what is wanted of a request.

    Raises what the request makes impossible: a release or a model that does not exist.
    """
    from envcheck.planning.plan import make_plan
    from envcheck.planning.report import build_report
    from envcheck.rules.check import judge

    spec = _model(request, matrix, asked)
    judgement = judge(host, matrix, informed(request, spec) if spec else request)
    every_way = ways or asked.output == "json" or asked.verbose
    choice = _choice(judgement, matrix, request, host, every_way)
    narrowed = for_model(request, matrix, spec, choice) if spec else None
    if spec and narrowed:
        request = narrowed
        judgement = judge(host, matrix, informed(request, spec))
        choice = _choice(judgement, matrix, request, host, every_way)
    size = planned_size(host, matrix, request, spec, judgement, choice) if spec else None
    if spec and size:
        from envcheck.rules.memory import with_memory

        judgement = with_memory(judgement, size, spec.name)
    if asked.output == "json" or asked.verbose:
        from msgspec.structs import replace

        from envcheck.rules.evidence import with_evidence

        judgement = replace(judgement, findings=with_evidence(judgement.findings, host, matrix))
    plan = make_plan(judgement, matrix, request, choice=choice, spec=spec, size=size, directory=environment_of(host, choice))
    if spec:
        from envcheck.cli.memory import with_model_ways

        plan = with_model_ways(plan, judgement, matrix, request, spec, choice.release)
    if tokens is not None and tokens.stated and spec:
        plan = _with_tokens(plan, matrix.release(choice.release or "") or matrix.releases[0], matrix, request, spec, tokens)
    return build_report(judgement, plan, matrix)


def _choice(judgement: Judgement, matrix: Matrix, request: Request, host: HostReport, ways: bool) -> StackChoice:
    """What is planned; with all ways where nothing runs as it is, or they are wanted."""
    from datetime import date

    from envcheck.planning.stack import choose_stack

    blocked = judgement.verdict.value == "blocked"
    choice = choose_stack(judgement, matrix, request, date.today(), explain=ways)
    if not (ways or blocked or choice.stack is None):
        return choice
    from envcheck.planning.ways.enumerate import with_ways

    return with_ways(choice, judgement, matrix, request, environment_of(host, choice))


def _with_tokens(plan: Plan, release: Release, matrix: Matrix, request: Request, spec: ModelSpec, tokens: Tokens) -> Plan:
    """The plan with the budget of requests; as it is where the context is not known."""
    from msgspec.structs import replace

    from envcheck.planning.serving.tokens import context_of, token_budget

    context = context_of(plan, spec, request.serve_args.get("max_model_len"))
    return replace(plan, tokens=token_budget(matrix, release, context, tokens)) if context else plan


def for_model(request: Request, matrix: Matrix, spec: ModelSpec, choice: StackChoice) -> Request | None:
    """The request for a release that knows the model, where none was asked for and the one to be installed does not; else None."""
    if request.vllm or choice.installed or not choice.release:
        return None
    import msgspec

    from envcheck.planning.serving.models import releases_knowing

    wanted = releases_knowing(matrix, spec, choice.release)
    return msgspec.structs.replace(request, vllm=wanted) if wanted else None


def _model(request: Request, matrix: Matrix, asked: Common) -> ModelSpec | None:
    """The model asked about. A release that does not exist is said first: nobody is asked about a model for it."""
    if not request.model:
        return None
    if request.vllm:
        from envcheck.rules.survey import asked_label

        matrix.matching(request.vllm)
        asked_label(matrix, request.vllm)
    return model_of(request, matrix, asked)


def informed(request: Request, spec: ModelSpec) -> Request:
    """The request with what was read of its model, so that the rules see it: what the user stated himself stays.

    The memory model gets the request as it was: it takes weights that are stated for measured ones.
    """
    from msgspec.structs import replace

    config = spec.config if request.model_config is None else request.model_config
    return replace(request, model=spec.name, model_config=config, weights_gib=_weights_gib(request, spec))


def _weights_gib(request: Request, spec: ModelSpec) -> float | None:
    """GiB of weights for each GPU; not of a copy in the hub's cache, whose download needs no room any more."""
    cached = spec.source.kind == "folder" and not spec.name.startswith("/")
    if request.weights_gib is not None or spec.weights_bytes is None or cached:
        return request.weights_gib
    sizes = [request.serve_args.get(f"{kind}_parallel_size") for kind in ("tensor", "pipeline")]
    parts = [size if isinstance(size, int) and size > 0 else 1 for size in sizes]
    return spec.weights_bytes / (1 << 30) / (parts[0] * parts[1])


def environment_of(host: HostReport, choice: StackChoice) -> str:
    """The environment a plan serves from: that of the interpreter where vLLM is installed already, else a fresh one."""
    from posixpath import dirname

    from envcheck.planning.plan import DIRECTORY

    python = known(host.python)
    folder = dirname(known(python.executable) or "") if python else ""
    if not choice.installed or not folder.startswith("/") or not folder.endswith("/bin"):
        return DIRECTORY
    # Into the system's interpreter, pip puts commands beside those of the distribution, not among them.
    return "/usr/local" if folder == "/usr/bin" else dirname(folder)


def planned_size(
    host: HostReport, matrix: Matrix, request: Request, spec: ModelSpec, judgement: Judgement, choice: StackChoice
) -> SizeResult:
    """The budget on the release that is planned, else on the one judged, with the settings that are planned."""
    from envcheck.cli.memory import size_as_planned

    wanted = choice.wanted
    release = matrix.release(choice.release) if choice.release else judgement.release
    engine = wanted.engine if wanted else None if choice.release else judgement.engine
    return size_as_planned(host, matrix, request, spec, release.version if release else None, engine)


def chosen_release(host: HostReport, matrix: Matrix, request: Request) -> tuple[Release, str | None]:
    """The release to size for, and its engine: the one judged, else the newest meant."""
    from envcheck.rules.check import judge

    judgement = judge(host, matrix, request, remedies=False)
    if judgement.release is not None:
        return judgement.release, judgement.engine
    return matrix.matching(request.vllm or "latest")[0], None


def model_of(request: Request, matrix: Matrix, asked: Common) -> ModelSpec:
    """The model asked about, from a folder, the matrix, or the hub. Raises UsageError for one that does not exist."""
    import os

    import msgspec

    from envcheck.readers.model import Places, find_model
    from envcheck.system.real import RealSystem

    hubs = matrix.mirrors("model-hub")
    hub = next((mirror.url for mirror in hubs if mirror.upstream), "")
    modelscope = next((mirror.url for mirror in hubs if mirror.id == "modelscope"), None)
    try:
        here = os.getcwd()
    except OSError:  # the folder was removed under us: nothing relative can be meant
        here = None
    revision = request.serve_args.get("revision")
    chosen = None if revision is None or isinstance(revision, bool) else str(revision)
    places = Places(hub, asked.offline, here, modelscope, chosen, tuple(mirror.url for mirror in hubs))
    system = RealSystem(offline=asked.offline)
    spec = find_model(request.model or "", system, matrix.model, places, _store)
    if any(key.startswith(("spec", "lora_modules")) for key in request.serve_args):
        from envcheck.readers.beside import with_beside

        other = msgspec.structs.replace(places, revision=None)
        spec = with_beside(spec, request.serve_args, system, lambda name: find_model(name, system, matrix.model, other, _store), here)
    unverified = spec.source.basis == "unverified"
    if not asked.quiet and (spec.unread or unverified or spec.source.cached_s is not None):
        from envcheck.cli.memory import model_notes
        from envcheck.cli.output import to_stderr
        from envcheck.model.text import Text

        notes = [*model_notes(spec), *([Text("note.model-unverified", {"name": spec.name})] if unverified else [])]
        to_stderr("".join(f"envcheck: {asked.catalogue.text(note)}\n" for note in notes))
    # A script may be started from anywhere and quotes what it names: a folder is named by its whole path.
    path = os.path.expanduser(spec.name) if spec.name.startswith("~") else spec.name
    return msgspec.structs.replace(spec, name=os.path.abspath(path)) if os.path.exists(path) else spec


def _store() -> Store:
    """Where what a hub said is kept, among this user's caches."""
    import os

    from envcheck.system.store import FolderStore, NoStore, cache_folder

    folder = cache_folder(os.environ)
    return FolderStore(folder) if folder else NoStore()
