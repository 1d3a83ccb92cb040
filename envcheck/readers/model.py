"""The model asked for: a local folder, a downloaded copy, the catalogue of models known without a network, or the hub, in that order."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from envcheck.errors import CannotTellError, EnvcheckError, UsageError
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.readers.hub_cache import downloaded, downloaded_gguf
from envcheck.readers.switches import is_on
from envcheck.system.port import System

if TYPE_CHECKING:
    from envcheck.readers.hub import Hub
    from envcheck.system.store import Store

_NAME_LIMIT = 400  # characters of a path or name; repository names end at 96 + 96
_PARTS = 2  # of a repository's name: who has it, and the model
_GGUF = ".gguf"
_UNVERIFIED = "unverified"
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")  # switches of the hub's own libraries, which vLLM heeds too
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
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

    @property
    def config_basis(self) -> str | None:
        """What the configuration rests on where nobody read the published file."""


Catalogue = Callable[[str], ModelCardLike | None]


class Places(msgspec.Struct, frozen=True):
    """Where to look: `hub_url` the official hub (`HF_ENDPOINT` of the environment names another one); `offline` = ask nobody.

    `working_dir` = where relative paths start, absolute; None = they are not looked for. `modelscope_url` = ModelScope, asked where
    `VLLM_USE_MODELSCOPE` says so. `revision` = a branch, tag or commit, None = the newest. `hubs` = the hubs whose addresses are known.
    """

    hub_url: str
    offline: bool = False
    working_dir: str | None = None
    modelscope_url: str | None = None
    revision: str | None = None
    hubs: tuple[str, ...] = ()


def find_model(name: str, system: System, catalogue: Catalogue, places: Places, store: Callable[[], Store] | None = None) -> ModelSpec:
    """The configuration of a model by name or path.

    A catalogue entry that lacks fields, or that nobody compared with the published file, is used only where the hub does not answer.
    `store` gives where a hub's answers are kept.

    Raises UsageError for a model that does not exist or is refused, CannotTellError where that cannot be told, InputError on a broken
    configuration.
    """
    wanted = _named(checked_name(name), places)
    path = _folder(wanted, system, places)
    if path is not None:
        return _read(wanted, path, system)
    offline = places.offline or any(is_on(system.env(), switch) for switch in _OFFLINE)
    places = msgspec.structs.replace(places, offline=offline)
    if ":" in wanted or wanted.endswith(_GGUF):
        found = _gguf(wanted, system, places, store)
        if found is not None:
            return found
    copy = downloaded(wanted, system, places.revision) if is_repository(wanted) else None
    if copy is not None:
        return _read(wanted, copy, system)
    card = catalogue(wanted)
    if card is not None and not places.revision and not (card.partial or card.config_basis == _UNVERIFIED):
        return _from_card(wanted, card)
    if not is_repository(wanted):
        raise UsageError("error.model-not-found", name=wanted)
    if places.revision and not _REVISION.fullmatch(places.revision):
        raise UsageError("error.model-revision-name", revision=_shown(places.revision))
    return _asked(wanted, system, card, places, store)


def _read(name: str, path: str, system: System) -> ModelSpec:
    """The model in a folder or a file that is there."""
    from envcheck.readers.gguf_file import read_gguf  # noqa: PLC0415 - not for a model of the catalogue
    from envcheck.readers.model_folder import read_folder  # noqa: PLC0415 - the same

    spec = read_gguf(path, system) if path.endswith(_GGUF) else read_folder(path, system)
    return msgspec.structs.replace(spec, name=name)


def _asked(name: str, system: System, card: ModelCardLike | None, places: Places, store: Callable[[], Store] | None) -> ModelSpec:
    """The model from the hub; where that does not answer, what it said earlier, else what the catalogue has.

    A model of the catalogue exists: a hub that refuses it, or a mirror that has it not, leaves what the catalogue knows.
    """
    from envcheck.readers.hub import Hub  # noqa: PLC0415 - not for a model that is here
    from envcheck.readers.hub_model import fetch_model, kept_model  # noqa: PLC0415 - the same
    from envcheck.system.store import NoStore  # noqa: PLC0415 - the same

    kept_in = store() if store else NoStore()
    hub = Hub.of(system.env(), places.hub_url, places.modelscope_url)
    try:
        if places.offline:
            raise CannotTellError("error.model-offline", name=name)
        return fetch_model(name, system, hub, places.revision, kept_in)
    except EnvcheckError as error:
        kept = kept_model(name, system, hub, places.revision, kept_in) if isinstance(error, CannotTellError) else None
        if kept is not None:
            return kept
        if card is not None and (isinstance(error, CannotTellError) or not places.revision):
            return _from_card(name, card)
        if error.text.key == "error.model-no-file":
            _say_which_gguf(name, system, hub, places, kept_in)
        raise


def _gguf(name: str, system: System, places: Places, store: Callable[[], Store] | None) -> ModelSpec | None:
    """The model of a GGUF file in a repository, downloaded or on its hub; None where the name means none."""
    from envcheck.readers.gguf_file import read_gguf  # noqa: PLC0415 - not for other models
    from envcheck.readers.gguf_names import chosen_file, gguf_name  # noqa: PLC0415 - the same
    from envcheck.readers.hub import Hub  # noqa: PLC0415 - the same
    from envcheck.readers.hub_gguf import fetch_gguf, kept_gguf  # noqa: PLC0415 - the same
    from envcheck.system.store import NoStore  # noqa: PLC0415 - the same

    meant = gguf_name(name)
    if meant is None or not is_repository(meant.repository):
        return None
    hub, kept_in = Hub.of(system.env(), places.hub_url, places.modelscope_url), store() if store else NoStore()
    here = downloaded_gguf(meant.repository, system, places.revision)
    try:
        if here:
            with suppress(UsageError):  # another quantization was downloaded
                return msgspec.structs.replace(read_gguf(here[chosen_file(meant, hub.place, here)], system), name=name)
        if places.offline:
            raise CannotTellError("error.model-offline", name=name)
        return fetch_gguf(name, meant, system, hub, places.revision, kept_in)
    except CannotTellError:
        kept = kept_gguf(name, meant, system, hub, places.revision, kept_in)
        if kept is None:
            raise
        return kept


def _say_which_gguf(name: str, system: System, hub: Hub, places: Places, store: Store) -> None:
    """Raises UsageError with the quantizations that a repository without a configuration holds, where it is one of GGUF files."""
    from envcheck.readers.gguf_names import GgufName  # noqa: PLC0415 - not for other models
    from envcheck.readers.hub_gguf import fetch_gguf  # noqa: PLC0415 - the same

    try:
        fetch_gguf(name, GgufName(name), system, hub, places.revision, store)
    except UsageError as error:
        if error.text.key == "error.model-gguf-which":
            raise
    except EnvcheckError:
        return


def checked_name(name: str) -> str:
    """A name or path that may be looked for: printable, of bounded length, without the null sign. Raises UsageError."""
    wanted = name.strip()
    if not wanted or len(wanted) > _NAME_LIMIT or not wanted.isprintable():
        raise UsageError("error.model-name", name=_shown(name), most=_NAME_LIMIT)
    return wanted


def _named(name: str, places: Places) -> str:
    """The repository that an address on a known hub means; any other name without a slash at its end."""
    if not name.startswith(("https://", "http://")):
        return name.rstrip("/") if is_repository(name.rstrip("/")) else name
    host, *parts = name.split("://", 1)[1].split("?", maxsplit=1)[0].split("#", maxsplit=1)[0].split("/")
    known = {url.split("://", 1)[-1].split("/")[0] for url in (*places.hubs, places.hub_url, places.modelscope_url or "")}
    parts = [part for part in parts if part]
    if parts[:1] == ["models"]:  # ModelScope's pages
        parts = parts[1:]
    found = "/".join(parts[:_PARTS])
    if host.lower().removeprefix("www.") not in known - {""} or len(parts) < _PARTS or not is_repository(found):
        raise UsageError("error.model-url", url=_shown(name), hubs=", ".join(sorted(known - {""})))
    return found


def is_repository(name: str) -> bool:
    """Whether a name can be a repository on the hub: one or two parts of letters, digits, dots, dashes; no way up."""
    return bool(_REPOSITORY.fullmatch(name)) and ".." not in name and "--" not in name


def _folder(name: str, system: System, places: Places) -> str | None:
    """The path of a folder that exists, or of one that can only be meant as a path."""
    path = _expanded(name, system, places)
    if path is None:
        return None
    is_path = name.startswith(("/", "./", "../", "~"))
    if system.exists(f"{path}/config.json") or ((is_path or path.endswith(_GGUF)) and system.exists(path)):
        return path
    if is_path:
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
    basis = "catalogue" if card.weights_bytes else None
    return ModelSpec(name, card.config, ModelSource("catalogue", card.id, card.config_basis), card.weights_bytes, basis)


def _shown(name: str) -> str:
    """A hostile name as far as a message may show it."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[:60])
