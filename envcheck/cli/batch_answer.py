"""One line of `batch` to its answer; whatever is in the line, there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from envcheck.cli.lines import LINE_LIMIT
from envcheck.errors import EnvcheckError
from envcheck.model.finding import Finding, Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Request, Want
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.jsonmodel import BatchError, BatchFinding, BatchOut
from envcheck.rules.check import judge
from envcheck.rules.memory import with_memory

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.model.budget import SizeResult, SizeVerdict
    from envcheck.render.jsonmodel import PlanOut, SizeOut
    from envcheck.rules.check import Judgement

_CHECK_ONLY: tuple[Want, ...] = ("check",)
_OF_SIZE: dict[SizeVerdict, Verdict] = {
    "fits": Verdict.READY,
    "tight": Verdict.READY,
    "does-not-fit": Verdict.BLOCKED,
    "unknown": Verdict.UNKNOWN,
}
_NOTHING = HostReport()
_NO_REQUEST = Request()


class Line(msgspec.Struct, frozen=True):
    """A question."""

    id: Any = None
    host: HostReport | None = None
    log: str | None = None
    request: Request | None = None
    want: tuple[Want, ...] = _CHECK_ONLY


def _without_secrets(request: Request) -> Request:
    """The request with secrets among its arguments put out of sight."""
    if not request.serve_args:
        return request
    from envcheck.system.secret_arguments import without_values

    return msgspec.structs.replace(request, serve_args=without_values(request.serve_args))


class Answerer:
    """Answers lines against one matrix; nothing is looked up anew for each."""

    def __init__(self, matrix: Matrix, catalogue: Catalogue) -> None:
        self._matrix = matrix
        self._catalogue = catalogue
        self._decoder = msgspec.json.Decoder(Line)

    def answer(self, line: bytes | None, number: int) -> BatchOut | BatchError:
        """The answer to a line (None = it was too long); never raises for what the line holds."""
        if line is None:
            return self._error(None, "batch.line-too-long", line=number, limit_mib=LINE_LIMIT >> 20)
        try:
            asked = self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            loose = _loosely(line)
            if not isinstance(loose, Line):
                return self._undecodable(loose, number, str(error)[:300])
            asked = loose
        try:
            return self._answer(asked)
        except EnvcheckError as error:
            return BatchError(asked.id, self._catalogue.text(error.text))
        except Exception as error:  # a fault of ours in one line must not take the others with it
            return self._error(asked.id, "error.internal", kind=type(error).__name__, what=str(error)[:300])

    def _error(self, id_: Any, key: str, **params: str | int) -> BatchError:
        return BatchError(id_, self._catalogue.text(Text(key, dict(params))))

    def _undecodable(self, loose: Any, number: int, why: str) -> BatchError:
        if loose is None:
            return self._error(None, "batch.not-json", line=number, why=why)
        return self._error(loose.get("id") if isinstance(loose, dict) else None, "batch.invalid", line=number, why=why)

    def _answer(self, asked: Line) -> BatchOut:
        host, request, want = asked.host or _NOTHING, _without_secrets(asked.request or _NO_REQUEST), asked.want
        if asked.log is not None and "diagnose" in want:
            return self._diagnosed(asked.id, asked.log, host if "check" in want and asked.host else None, request)
        judgement = judge(host, self._matrix, request, remedies="plan" in want)
        if want == _CHECK_ONLY:
            return BatchOut(asked.id, judgement.verdict, judgement.engine, _short(judgement.findings))
        size = self._size(host, request, judgement) if "size" in want else None
        judged = want != ("size",)
        if size and "check" in want:
            judgement = with_memory(judgement, size, request.model or "")
        return BatchOut(
            asked.id,
            judgement.verdict if judged or size is None else _OF_SIZE[size.verdict],
            judgement.engine,
            _short(judgement.findings) if judged else [],
            self._size_out(size) if size else UNSET,
            self._plan_out(host, judgement, request, size) if "plan" in want else UNSET,
        )

    def _diagnosed(self, id_: Any, log: str, host: HostReport | None, request: Request) -> BatchOut:
        """A log, with the host it is of where that is stated."""
        from envcheck.diagnosis.diagnose import diagnose_text
        from envcheck.planning.triage import merged

        found = diagnose_text(log, self._matrix)
        verdict = {"cause": Verdict.BLOCKED, "unknown": Verdict.UNKNOWN, "nothing": Verdict.READY}[found.status]
        if host is None:
            return BatchOut(id_, verdict, None, _short(found.findings))
        judgement = judge(host, self._matrix, request, remedies=False)
        findings = merged(found.findings, judgement.findings, self._matrix)
        return BatchOut(id_, verdict if found.findings else judgement.verdict, judgement.engine, _short(findings))

    def _size(self, host: HostReport, request: Request, judgement: Judgement) -> SizeResult:
        from envcheck.cli.memory import known_spec, size

        release = judgement.release.version if judgement.release else None
        return size(host, self._matrix, request, known_spec(request, self._matrix), release, judgement.engine)

    def _size_out(self, size: SizeResult) -> SizeOut:
        from envcheck.render.jsonout import size_out

        return size_out(size, self._catalogue, account=False)

    def _plan_out(self, host: HostReport, judgement: Judgement, request: Request, size: SizeResult | None) -> PlanOut:
        """The plan as `envcheck plan` has it: the model sized for the release and the settings that are planned, asked for or not."""
        from datetime import date

        from envcheck.cli.answer import environment_of, for_model, planned_size
        from envcheck.cli.memory import known_spec
        from envcheck.planning.plan import make_plan
        from envcheck.planning.stack import choose_stack
        from envcheck.planning.ways.enumerate import with_ways
        from envcheck.planning.wishes import checked
        from envcheck.render.jsonout import plan_out

        checked(request.pins)
        choice = choose_stack(judgement, self._matrix, request, date.today())
        spec = known_spec(request, self._matrix)
        narrowed = for_model(request, self._matrix, spec, choice) if spec else None
        if narrowed:
            request, judgement = narrowed, judge(host, self._matrix, narrowed)
            choice = choose_stack(judgement, self._matrix, request, date.today())
        directory = environment_of(host, choice)
        choice = with_ways(choice, judgement, self._matrix, request, directory)
        planned = planned_size(host, self._matrix, request, spec, judgement, choice) if spec else size
        plan = make_plan(judgement, self._matrix, request, choice=choice, spec=spec, size=planned, directory=directory)
        if spec:
            from envcheck.cli.memory import with_model_ways

            plan = with_model_ways(plan, judgement, self._matrix, request, spec, choice.release)
        return plan_out(plan, self._catalogue)


def _loosely(line: bytes) -> Any:
    """The line by a parser that takes `Infinity` and `NaN`, as some model configurations hold them: a Line, else what it is, else None."""
    import json

    try:
        # Half a surrogate pair is no text that an answer could hold.
        loose = json.loads(json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    try:
        return msgspec.convert(loose, Line)
    except msgspec.ValidationError:
        return loose


def _short(findings: tuple[Finding, ...]) -> list[BatchFinding]:
    return [
        BatchFinding(finding.code, finding.severity, finding.origin, [inner.code for inner in finding.consequences] or UNSET)
        for finding in findings
    ]
