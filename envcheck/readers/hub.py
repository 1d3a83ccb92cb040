"""A model on a hub: `config.json` and the size in the index of its weights, over the port's bounded GET."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import msgspec

from envcheck.errors import CannotTellError, InputError, UsageError
from envcheck.model.fact import Found
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.safetensors import INDEX_LIMIT, index_bytes
from envcheck.system.port import HttpAnswer, System

_TIMEOUT_S = 5.0
_OK, _UNAUTHORIZED, _FORBIDDEN, _MISSING, _GONE = 200, 401, 403, 404, 410


class Hub(msgspec.Struct, frozen=True):
    """Which hub is asked: `url` the one in use, `official` the one whose token may be sent. Without a slash at the end."""

    url: str
    official: str

    @classmethod
    def of(cls, environment: Mapping[str, str], official: str) -> Hub:
        """The hub that `HF_ENDPOINT` names, else the official one."""
        return cls((environment.get("HF_ENDPOINT") or official).strip().rstrip("/"), official.rstrip("/"))

    def headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The token, for the official hub alone: a mirror's owner must not get it."""
        token = (environment.get("HF_TOKEN") or "").strip()
        sendable = bool(token) and token.isascii() and token.isprintable() and urlsplit(self.url)[:2] == urlsplit(self.official)[:2]
        return {"Authorization": f"Bearer {token}"} if sendable else {}

    @property
    def shown(self) -> str:
        """Its URL as messages may cite it, without a user and a password. Raises ValueError for what is no URL."""
        urlsplit(self.url)
        scheme, there, rest = self.url.rpartition("://")
        place, slash, path = rest.partition("/")
        return f"{scheme}{there}{place.rpartition('@')[2]}{slash}{path}"


def fetch_model(name: str, system: System, hub: Hub, revision: str = "main") -> ModelSpec:
    """The model of a valid repository name.

    Raises UsageError where the hub does not know it or refuses it, CannotTellError where the hub cannot be asked, InputError on a
    broken configuration.
    """
    try:
        shown, headers = hub.shown, hub.headers(system.env())
    except ValueError:
        raise CannotTellError("error.model-not-asked", name=name, hub="HF_ENDPOINT", why="not a URL") from None
    path = f"{quote(name, safe='/')}/resolve/{quote(revision, safe='')}"
    config = _get(f"{hub.url}/{path}/config.json", name, system, hub, headers)
    if config.truncated:
        raise InputError("error.config-too-large", name=f"{shown}/{path}/config.json", limit_mib=CONFIG_LIMIT >> 20)
    spec = ModelSpec(name, parse_config(config.body, f"{shown}/{path}/config.json"), ModelSource("hub", f"{shown}/{name}"))
    answer = system.http_get(f"{hub.url}/{path}/model.safetensors.index.json", headers, _TIMEOUT_S, INDEX_LIMIT)
    found = answer.value if isinstance(answer, Found) and answer.value.status == _OK and not answer.value.truncated else None
    return msgspec.structs.replace(spec, weights_bytes=index_bytes(found.body) if found else None)


def _get(url: str, name: str, system: System, hub: Hub, headers: Mapping[str, str]) -> HttpAnswer:
    answer = system.http_get(url, headers, _TIMEOUT_S, CONFIG_LIMIT)
    place = urlsplit(hub.url).hostname or hub.url.rpartition("@")[2][:100]
    if not isinstance(answer, Found):
        raise CannotTellError("error.model-not-asked", name=name, hub=place, why=answer.why)
    status = answer.value.status
    if status == _OK:
        return answer.value
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        raise UsageError("error.model-gated", name=name, hub=place)
    if status in (_MISSING, _GONE):
        raise UsageError("error.model-unknown", name=name, hub=place)
    raise CannotTellError("error.model-not-asked", name=name, hub=place, why=f"HTTP {status}")
