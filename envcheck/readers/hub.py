"""Which hub is asked for a model, and with which token: a Hugging Face hub or a mirror of it, or ModelScope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote, urlsplit

import msgspec

from envcheck.model.fact import Found
from envcheck.readers.switches import is_on
from envcheck.system.port import System

Kind = Literal["hub", "modelscope"]
_TOKEN_LIMIT = 512


class Hub(msgspec.Struct, frozen=True):
    """Which hub is asked: `url` the one in use, `official` the one whose token may be sent. Without a slash at the end."""

    url: str
    official: str
    kind: Kind = "hub"

    @classmethod
    def of(cls, environment: Mapping[str, str], official: str, modelscope: str | None = None) -> Hub:
        """ModelScope where vLLM is told to use it, else the hub that `HF_ENDPOINT` names, else the official one."""
        if modelscope and is_on(environment, "VLLM_USE_MODELSCOPE"):
            domain = (environment.get("MODELSCOPE_DOMAIN") or "").strip().strip("/")
            url = domain if "://" in domain else f"https://{domain}" if domain else modelscope.rstrip("/")
            return cls(url, "", "modelscope")
        return cls((environment.get("HF_ENDPOINT") or official).strip().rstrip("/"), official.rstrip("/"))

    def headers(self, system: System) -> dict[str, str]:
        """The token, for the official hub alone: a mirror's owner must not get it."""
        if not self.official or urlsplit(self.url)[:2] != urlsplit(self.official)[:2]:
            return {}
        token = _token(system)
        sendable = bool(token) and token.isascii() and token.isprintable()
        return {"Authorization": f"Bearer {token}"} if sendable else {}

    def file_url(self, name: str, revision: str, file: str) -> str:
        """Where a file of a model lies; `name` = a valid repository name."""
        models = "models/" if self.kind == "modelscope" else ""
        return f"{self.url}/{models}{quote(name, safe='/')}/resolve/{quote(revision, safe='')}/{quote(file, safe='/')}"

    def list_url(self, name: str, revision: str) -> str:
        """Where the names of a model's files are listed."""
        if self.kind == "modelscope":
            return f"{self.url}/api/v1/models/{quote(name, safe='/')}/repo/files?Revision={quote(revision, safe='')}&Recursive=true"
        return f"{self.url}/api/models/{quote(name, safe='/')}/revision/{quote(revision, safe='')}"

    @property
    def default_revision(self) -> str:
        """The branch that is meant where none is named."""
        return "master" if self.kind == "modelscope" else "main"

    @property
    def shown(self) -> str:
        """Its URL as messages may cite it, without a user and a password. Raises ValueError for what is no URL."""
        return without_password(self.url)

    @property
    def place(self) -> str:
        """Its host, as messages call it."""
        return urlsplit(self.url).hostname or self.url.rpartition("@")[2][:100]


def without_password(url: str) -> str:
    """A URL without a user and a password. Raises ValueError for what is no URL."""
    urlsplit(url)
    scheme, there, rest = url.rpartition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{there}{place.rpartition('@')[2]}{slash}{path}"


def _token(system: System) -> str:
    """The token of the environment, else the one that signing in left, unless it may not be used unasked."""
    environment = system.env()
    told = (environment.get("HF_TOKEN") or environment.get("HUGGING_FACE_HUB_TOKEN") or "").strip()
    if told or is_on(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        return told
    home = environment.get("HF_HOME") or f"{(environment.get('HOME') or '').rstrip('/')}/.cache/huggingface"
    read = system.read(environment.get("HF_TOKEN_PATH") or f"{home.rstrip('/')}/token", _TOKEN_LIMIT)
    return read.value.decode("ascii", "replace").strip() if isinstance(read, Found) else ""
