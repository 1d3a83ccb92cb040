"""Type, region and owner of a machine, from what cloud-init left behind and from the variables and files that platforms set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from envcheck.model.cloud import CloudMatcher, CloudTell, Take
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.look import Look

# What cloud-init learnt at boot and leaves readable for everybody.
INSTANCE_DATA = "/run/cloud-init/instance-data.json"
_LONGEST = 64  # characters of a type or region
_KEYS = 5  # levels of a JSON text that are gone down


def variable(look: Look, name: str) -> str | None:
    """A variable of the environment, in a container also of its first process: a login by ssh loses what the platform set."""
    own = look.env.get(name)
    return own if own is not None else look.once(_of_first_process).get(name)


def _of_first_process(look: Look) -> dict[str, str]:
    first = look.text("/proc/1/environ") if isinstance(look.once(kind), Found) else None
    pairs = (entry.partition("=") for entry in first.value.split("\0")) if isinstance(first, Found) else ()
    return {name: value for name, equals, value in pairs if equals}


def text_of(look: Look, path: str) -> Fact[str]:
    """A file's text, read once a visit: several providers are told by the same few files."""
    texts = look.once(_texts)
    if path not in texts:
        texts[path] = look.text(path)
    return texts[path]


def _texts(look: Look) -> dict[str, Fact[str]]:
    return {}


def told_by(look: Look, matcher: CloudMatcher | None, fact: str) -> Iterator[Fact[str]]:
    """What each place of a provider tells of a fact."""
    for tell in matcher.tells if matcher else ():
        if tell.fact == fact:
            yield _told(look, tell)


def _told(look: Look, tell: CloudTell) -> Fact[str]:
    text: Fact[str]
    if tell.kind == "env":
        source = tell.name or ""
        value = variable(look, source)
        text = Absent(f"no {source}") if value is None else Found(value, source)
    else:
        source = tell.path or ""
        text = text_of(look, source)
    if not isinstance(text, Found):
        return text
    part = taken(text.value, tell.key or "", tell.take)
    value = (tell.means.get(part) if tell.means else part) if part else None
    return Found(value, source) if value else Unreadable(f"{source} holds none in a known form")


def taken(text: str, key: str, take: Take) -> str | None:
    """The type or region in an answer; None where it does not have the form of one, as a page of a login portal has not."""
    value: Any = text
    if key:
        try:
            value = msgspec.json.decode(text.encode("utf-8", "replace"))
        except (msgspec.MsgspecError, RecursionError):
            return None
        for step in key.split(".")[:_KEYS]:
            value = value.get(step) if isinstance(value, dict) else None
    return _part(value.strip("\0 \t\r\n"), take) if isinstance(value, str) else None


def _part(value: str, take: Take) -> str | None:
    if take == "arn-region":
        fields = value.split(":")
        value = fields[3] if len(fields) > 5 and fields[0] == "arn" else ""
    elif take in ("zone", "last-part"):
        value = value.rpartition("/")[2]
    if take == "zone":
        value = region_of(value) or ""
    if take == "type" and "." not in value:
        return None
    return value if is_word(value) else None


def is_word(value: str) -> bool:
    """Whether a text can be a type or a region: a short word of letters, digits and a few signs."""
    return 0 < len(value) <= _LONGEST and value.isascii() and value[0].isalnum() and all(one.isalnum() or one in "._-" for one in value)


def region_of(zone: str) -> str | None:
    """The region of a zone named by one more letter: `us-east-1a` → `us-east-1`, `us-central1-a` → `us-central1`."""
    letter, rest = zone[-1:], zone[:-1]
    if not letter.isalpha() or not rest or not (rest[-1].isdigit() or rest[-1] == "-"):
        return None
    return rest.rstrip("-") or None


class _Standard(msgspec.Struct, frozen=True):
    region: str | None = None
    availability_zone: str | None = None


class _Source(msgspec.Struct, frozen=True):
    meta_data: Any = None


class _InstanceData(msgspec.Struct, frozen=True):
    v1: _Standard | None = None
    ds: _Source | None = None


def parse_instance_data(data: bytes) -> dict[str, str] | None:
    """`region` and `instance_type` of cloud-init's instance data, as far as it holds them; None where it cannot be read."""
    try:
        document = msgspec.json.decode(data, type=_InstanceData)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    meta = document.ds.meta_data if document.ds and isinstance(document.ds.meta_data, dict) else {}
    instance = meta.get("instance")
    nested = instance if isinstance(instance, dict) else {}
    standard = document.v1 or _Standard()
    found = {
        "region": standard.region or meta.get("region-id") or region_of(standard.availability_zone or ""),
        "instance_type": meta.get("instance-type") or nested.get("instance-type"),
    }
    return {name: value for name, value in found.items() if isinstance(value, str) and is_word(value)}


def at_boot(look: Look, fact: str) -> Fact[str]:
    """What cloud-init learnt of a fact when the machine started."""
    told = look.once(_at_boot)
    if not isinstance(told, Found):
        return told
    return Found(told.value[fact], told.source) if fact in told.value else Absent(f"not in {told.source}")


def _at_boot(look: Look) -> Fact[dict[str, str]]:
    fact = look.system.read(INSTANCE_DATA, 1 << 20)
    if not isinstance(fact, Found):
        return Absent(f"no {INSTANCE_DATA}") if isinstance(fact, Absent) else Unreadable(f"{INSTANCE_DATA}: {fact.why}")
    parsed = parse_instance_data(fact.value)
    return Found(parsed, INSTANCE_DATA) if parsed is not None else Unreadable(f"{INSTANCE_DATA} is no valid JSON")
