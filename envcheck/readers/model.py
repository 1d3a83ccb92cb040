"""The model asked for: a local folder, a downloaded copy, the catalogue of models known without a network, or the hub, in that order."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from envcheck.errors import CannotTellError, UsageError
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.readers.hub import Hub, fetch_model
from envcheck.readers.hub_cache import downloaded
from envcheck.readers.model_folder import read_folder
from envcheck.system.port import System

_NAME_LIMIT = 400  # characters of a path or name; repository names end at 96 + 96
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")


class ModelCardLike(Protocol):
    """What the catalogue knows of a model. `partial` = fields that sizing needs are missing; `weights_bytes` of the whole checkpoint."""

    @property
    def id(self) -> str:
        """Its name on the hub."""

    @property
    def config(self) -> dict[str, Any]:
        """Its configuration."""

    @property
    def partial(self) -> bool:
        """Whether the configuration lacks fields that sizing needs."""

    @property
    def weights_bytes(self) -> int | None:
        """The whole checkpoint's bytes, where known."""


Catalogue = Callable[[str], ModelCardLike | None]


class Places(msgspec.Struct, frozen=True):
    """Where to look: `hub_url` the official hub (`HF_ENDPOINT` of the environment names another one); `offline` = ask nobody.

    `working_dir` = where relative paths start, absolute; None = they are not looked for.
    """

    hub_url: str
    offline: bool = False
    working_dir: str | None = None


def find_model(name: str, system: System, catalogue: Catalogue, places: Places) -> ModelSpec:
    """The configuration of a model by name or path.

    A catalogue entry that lacks fields is used only where the hub cannot be asked. Raises UsageError for a model that does not exist
    or is refused, CannotTellError where that cannot be told, InputError on a broken configuration.
    """
    wanted = checked_name(name)
    folder = _folder(wanted, system, places) or (downloaded(wanted, system) if is_repository(wanted) else None)
    if folder is not None:
        return msgspec.structs.replace(read_folder(folder, system), name=wanted)
    card = catalogue(wanted)
    if card is not None and (places.offline or not card.partial):
        return _from_card(wanted, card)
    if not is_repository(wanted):
        raise UsageError("error.model-not-found", name=wanted)
    if places.offline:
        raise CannotTellError("error.model-offline", name=wanted)
    try:
        return fetch_model(wanted, system, Hub.of(system.env(), places.hub_url))
    except CannotTellError:
        if card is None:
            raise
        return _from_card(wanted, card)


def checked_name(name: str) -> str:
    """A name or path that may be looked for: printable, of bounded length, without the null sign. Raises UsageError."""
    wanted = name.strip()
    if not wanted or len(wanted) > _NAME_LIMIT or not wanted.isprintable():
        raise UsageError("error.model-name", name=_shown(name), most=_NAME_LIMIT)
    return wanted


def is_repository(name: str) -> bool:
    """Whether a name can be a repository on the hub: one or two parts of letters, digits, dots, dashes; no way up."""
    return bool(_REPOSITORY.fullmatch(name)) and ".." not in name and "--" not in name


def _folder(name: str, system: System, places: Places) -> str | None:
    """The path of a folder that exists, or of one that can only be meant as a path."""
    path = _expanded(name, system, places)
    if path is None:
        return None
    if system.exists(f"{path}/config.json") or (name.startswith(("/", "./", "../", "~")) and system.exists(path)):
        return path
    if name.startswith(("/", "./", "../", "~")):
        raise UsageError("error.model-path", path=name)
    return None


def _expanded(name: str, system: System, places: Places) -> str | None:
    """An absolute path for the port."""
    if name == "~" or name.startswith("~/"):
        home = system.env().get("HOME")
        return f"{home.rstrip('/')}{name[1:]}".rstrip("/") if home else None
    if name.startswith("/"):
        return posixpath.normpath(name)
    return posixpath.normpath(posixpath.join(places.working_dir, name)) if places.working_dir else None


def _from_card(name: str, card: ModelCardLike) -> ModelSpec:
    return ModelSpec(name, card.config, ModelSource("catalogue", card.id), card.weights_bytes)


def _shown(name: str) -> str:
    """A hostile name as far as a message may show it."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[:60])
