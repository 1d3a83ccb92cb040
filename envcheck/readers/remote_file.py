"""Files of a model on a hub: bounded requests, each refusal in its own words, what was fetched kept for the next time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from envcheck.errors import CannotTellError, EnvcheckError, UsageError
from envcheck.model.fact import Found
from envcheck.readers.hub import Hub, without_password
from envcheck.system.port import HttpAnswer, System
from envcheck.system.store import Store

TIMEOUT_S = 5.0  # of one request
_ALL_S = 25.0  # of all requests for one model
_OK, _PARTIAL, _UNAUTHORIZED, _FORBIDDEN, _MISSING, _GONE, _TOO_MANY = 200, 206, 401, 403, 404, 410, 429
_NO_FILE = (b"entry not found", b"entrynotfound", b"is not found in repository")
_NO_REVISION = (b"invalid rev", b"revision not found", b"revisionnotfound")


class Repository(msgspec.Struct, frozen=True):
    """A model of a hub at a revision, and what is needed to ask for its files. `end` = the moment (monotonic) when all must be over."""

    name: str
    revision: str
    hub: Hub
    system: System
    store: Store
    headers: dict[str, str]
    end: float

    PARTIAL: ClassVar[int] = _PARTIAL

    @classmethod
    def of(cls, name: str, revision: str | None, hub: Hub, system: System, store: Store) -> Repository:
        """The model of a valid repository name. Raises CannotTellError where the hub's address is no URL."""
        try:
            without_password(hub.url)
            headers = hub.headers(system)
        except ValueError:
            raise CannotTellError("error.model-not-asked", name=name, hub="HF_ENDPOINT", why="not a URL") from None
        return cls(name, revision or hub.default_revision, hub, system, store, headers, time.monotonic() + _ALL_S)

    def url(self, file: str) -> str:
        """Where a file lies."""
        return self.hub.file_url(self.name, self.revision, file)

    def shown(self, file: str) -> str:
        """The same as messages may cite it."""
        return without_password(self.url(file))

    def key(self, file: str, state: str = "") -> str:
        """Under what a file is kept; `state` = what else must be the same for the copy to hold."""
        return "\n".join((self.shown(file), self.revision, state))

    def fetch(self, file: str, limit: int, end: int | None = None, begin: int = 0) -> HttpAnswer:
        """A file, or its bytes from `begin` up to `end`; who knows no ranges sends it all, and we stop reading.

        Raises what a refusal means.
        """
        ranged = {} if end is None else {"Range": f"bytes={begin}-{end - 1}"}
        return self.fetch_url(self.url(file), file, limit, ranged)

    def fetch_url(self, url: str, file: str, limit: int, more: Mapping[str, str] | None = None) -> HttpAnswer:
        """What lies at an address of this hub; `file` = what messages say is missing where it is not there; `more` = headers.

        Raises what a refusal means.
        """
        left = self.end - time.monotonic()
        if left <= 0:
            raise CannotTellError("error.model-not-asked", name=self.name, hub=self.hub.place, why=f"not done after {_ALL_S:g} s")
        answer = self.system.http_get(url, {**self.headers, **(more or {})}, min(TIMEOUT_S, left), limit)
        if not isinstance(answer, Found):
            raise CannotTellError("error.model-not-asked", name=self.name, hub=self.hub.place, why=answer.why)
        if answer.value.status not in (_OK, _PARTIAL):
            raise self._refused(answer.value, file)
        return answer.value

    def _refused(self, answer: HttpAnswer, file: str) -> EnvcheckError:
        """What a status means, with what the hub says where the status alone leaves it open."""
        status, said = answer.status, answer.body[:4096].lower()
        common = {"name": self.name, "hub": self.hub.place}
        if status in (_UNAUTHORIZED, _FORBIDDEN):
            return UsageError("error.model-gated", **common)
        if status in (_MISSING, _GONE):
            if any(sign in said for sign in _NO_REVISION):
                return UsageError("error.model-revision", **common, revision=self.revision)
            if any(sign in said for sign in _NO_FILE):
                return UsageError("error.model-no-file", **common, file=file)
            return UsageError("error.model-unknown", **common)
        if status == _TOO_MANY:
            return CannotTellError("error.model-rate-limited", **common)
        if status >= 500:
            return CannotTellError("error.model-hub-broken", **common, status=status)
        return CannotTellError("error.model-not-asked", **common, why=f"HTTP {status}")
