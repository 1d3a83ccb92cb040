"""Facts stated by the user, laid over a report by dotted path: `driver.version=550.54.15`, `gpus.0.memory_mib=23028`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

import msgspec

from envcheck.errors import UsageError
from envcheck.model.host import Gpu, HostReport, Provenance

_ABSENT = ("null", "none")
_FORBIDDEN = ("schema", "provenance")
_LISTS = 256  # a place further out is a slip, not a fact
# What was read goes with what it was read of: of another driver or another card it is not known, unless that is stated too.
_OF_DRIVER = ("driver.cuda", "driver.library_version", "libcuda", "kernel_modules.nvidia_on_disk")
_OF_CARD = tuple(field for field in Gpu.__struct_fields__ if field not in ("index", "name"))


def apply(report: HostReport, overrides: Mapping[str, str], source: str = "--set") -> HostReport:
    """The report with every override in it; `null` states that something is absent.

    Raises UsageError for a path the document does not have, or a value of another type.
    """
    document: dict[str, Any] = msgspec.to_builtins(report)
    for path, text in overrides.items():
        _forget(document, path, text, overrides)
    for path, text in overrides.items():
        _put(document, path, text)
    for path, text in overrides.items():
        document.setdefault("provenance", {})[path] = msgspec.to_builtins(Provenance("given", source=f"{source} {path}={text}"[:300]))
    return _decoded(document, overrides)


def _forget(document: dict[str, Any], path: str, text: str, stated: Mapping[str, str]) -> None:
    """Take out what another driver's version or another card's name makes untrue; what was known of none stays as it was."""
    before = _at(document, path)
    if not isinstance(before, str) or before == text:
        return
    whole, _, last = path.rpartition(".")
    gone: tuple[str, ...]
    if path == "driver.version":
        gone = _OF_DRIVER
    elif last == "name" and whole.startswith("gpus."):
        gone = tuple(f"{whole}.{field}" for field in _OF_CARD)
    else:
        return
    given = [name for name, told in (document.get("provenance") or {}).items() if told.get("state") == "given"]
    for other in gone:
        if any(name == other or name.startswith(f"{other}.") for name in (*stated, *given)):
            continue
        above, _, key = other.rpartition(".")
        place = _at(document, above) if above else document
        if isinstance(place, dict):
            place.pop(key, None)


def _at(document: Any, path: str) -> Any:
    """What stands at a path; None where nothing does."""
    place = document
    for part in path.split("."):
        if isinstance(place, list):
            place = place[int(part)] if part.isdecimal() and int(part) < len(place) else None
        else:
            place = place.get(part) if isinstance(place, dict) else None
    return place


def _put(document: dict[str, Any], path: str, text: str) -> None:
    """Set one value, making the parts on the way; text that is JSON is taken as such where the document wants no text."""
    keys = path.split(".")
    names = HostReport.__struct_fields__
    if keys[0] not in names or keys[0] in _FORBIDDEN or "" in keys:
        raise UsageError("error.override-path", path=path, first=keys[0], known=", ".join(n for n in names if n not in _FORBIDDEN))
    if keys[0] in ("packages", "environment", "network", "observed"):
        keys = [keys[0], *filter(None, [".".join(keys[1:])])]  # names there may hold dots
    place: Any = document
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        place = _step(place, key, following, text, path)


def _step(place: Any, key: str, following: str | None, text: str, path: str) -> Any:
    """One level down: set the value at the last key, else make and enter the list or object there."""
    slot: Any = key
    if isinstance(place, list):
        if not key.isdecimal() or int(key) > min(len(place), _LISTS):
            raise UsageError("error.override-place", path=path, place=key, count=len(place))
        slot = int(key)
        if slot == len(place):
            place.append({})
    if following is None:
        place[slot] = _parsed(text)
        return None
    inner = place[slot] if isinstance(place, list) else place.get(slot)
    if not isinstance(inner, dict | list):
        absent = inner is None and (slot in place if isinstance(place, dict) else True)
        inner = place[slot] = [] if following.isdecimal() else _fields_absent(slot) if absent else {}
    return inner


def _fields_absent(part: Any) -> dict[str, Any]:
    """The fields of a part that was known to be absent: what nobody states of it is absent still, and not unknown."""
    inner = _parts().get(part)
    return dict.fromkeys(inner.__struct_fields__) if inner else {}


@cache
def _parts() -> dict[str, type[msgspec.Struct]]:
    """The parts of the document that are objects with fields, by name."""
    members = ((field.name, get_args(field.type)) for field in msgspec.structs.fields(HostReport))
    return {name: kind for name, kinds in members for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}


def _parsed(text: str) -> Any:
    """Lists and objects may be given as JSON; a single value stays text, which the document's types turn into what they need."""
    if text.lower() in _ABSENT:
        return None
    if text[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(text.encode())
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


def _decoded(document: dict[str, Any], overrides: Mapping[str, str]) -> HostReport:
    try:
        report = msgspec.convert(document, HostReport, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(
            "error.override-value", given=", ".join(f"{path}={text}" for path, text in overrides.items()), why=str(error)
        ) from None
    for path in overrides:
        if not _arrived(report, path):
            raise UsageError("error.override-path", path=path, first=path.split(".")[-1], known=_siblings(report, path))
    return report


def _arrived(report: HostReport, path: str) -> bool:
    """Whether the document knows this path: unknown keys are dropped in decoding."""
    place: Any = report
    for key in path.split("."):
        if isinstance(place, dict):
            return True
        if isinstance(place, msgspec.Struct) and key not in place.__struct_fields__:
            return False
        place = place[int(key)] if isinstance(place, list) else getattr(place, key, None)
    return True


def _siblings(report: HostReport, path: str) -> str:
    place: Any = report
    for key in path.split(".")[:-1]:
        place = place[int(key)] if isinstance(place, list) else getattr(place, key, None)
    return ", ".join(place.__struct_fields__) if isinstance(place, msgspec.Struct) else ""
