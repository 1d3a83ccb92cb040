"""One line of `batch` to its answer; whatever is in the line, there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.errors import EnvcheckError
from envcheck.model.finding import Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Request, Want
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.jsonmodel import BatchError, BatchFinding, BatchOut
from envcheck.rules.check import judge

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix

_OF_SIZE = {"fits": Verdict.READY, "tight": Verdict.READY, "does-not-fit": Verdict.BLOCKED, "unknown": Verdict.UNKNOWN}
_NOTHING = HostReport()
_NO_REQUEST = Request()


class Line(msgspec.Struct, frozen=True):
    """A question. The log is taken and kept for the commands that read logs."""

    id: Any = None
    host: HostReport | None = None
    log: str | None = None
    request: Request | None = None
    want: tuple[Want, ...] = ("check",)


class Answerer:
    """Answers lines against one matrix; nothing is looked up anew for each."""

    def __init__(self, matrix: Matrix, catalogue: Catalogue) -> None:
        self._matrix = matrix
        self._catalogue = catalogue
        self._decoder = msgspec.json.Decoder(Line)

    def answer(self, line: bytes | None, number: int) -> BatchOut | BatchError:
        """The answer to a line (None = it was too long); never raises for what the line holds."""
        if line is None:
            return self._error(None, "batch.line-too-long", line=number, limit_mib=16)
        try:
            asked = self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            return self._undecodable(line, number, str(error)[:300])
        try:
            return self._answer(asked)
        except EnvcheckError as error:
            return BatchError(asked.id, self._catalogue.text(error.text))
        except Exception as error:  # a fault of ours in one line must not take the others with it
            return self._error(asked.id, "error.internal", kind=type(error).__name__, what=str(error)[:300])

    def _error(self, id_: Any, key: str, **params: str | int) -> BatchError:
        return BatchError(id_, self._catalogue.text(Text(key, dict(params))))

    def _undecodable(self, line: bytes, number: int, why: str) -> BatchError:
        try:
            loose = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return self._error(None, "batch.not-json", line=number, why=why)
        return self._error(loose.get("id") if isinstance(loose, dict) else None, "batch.invalid", line=number, why=why)

    def _answer(self, asked: Line) -> BatchOut:
        request = asked.request or _NO_REQUEST
        judgement = judge(asked.host or _NOTHING, self._matrix, request, remedies=False)
        findings = [BatchFinding(finding.code, finding.severity, finding.origin) for finding in judgement.findings]
        return BatchOut(asked.id, judgement.verdict, judgement.engine, findings)
