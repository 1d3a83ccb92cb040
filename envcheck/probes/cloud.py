"""The cloud provider, by the matrix's signs: files and environment, never the network.

Inside a container the firmware files show the host, so the machine's maker and a platform on top of it are told apart.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from envcheck.model.cloud import CloudSign
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.system.port import READ_LIMIT

FIELDS = ("cloud.provider", "cloud.instance_type", "cloud.region", "cloud.platform")
# How far a sign is to be trusted, best first; what is not listed comes last.
_TRUST = ("reference", "vendor_doc", "kernel_log", "public_code", "general_knowledge", "weak")
_FIRMWARE = "/sys/class/dmi/id"  # where nearly every sign of a machine's maker lies
# What cloud-init learnt at boot and leaves readable for everybody.
_INSTANCE_DATA = "/run/cloud-init/instance-data.json"


def probe(look: Look) -> Facts:
    """All facts under `cloud`; `provider` is the machine's maker, or the platform where nothing shows the maker."""
    platform = best(look, "platform")
    host = best(look, "host")
    told = look.once(_instance)
    return {
        "cloud.provider": host if isinstance(host, Found) or not isinstance(platform, Found) else platform,
        "cloud.platform": platform,
        "cloud.instance_type": _told(told, "instance_type"),
        "cloud.region": _told(told, "region"),
    }


def best(look: Look, level: str) -> Fact[str]:
    """The provider of a level with the most trustworthy sign; unreadable where none was found and a sign could not be looked at."""
    found: list[tuple[int, str, str]] = []
    refused: Unreadable | None = None
    for matcher in look.matchers:
        for sign in matcher.signs if matcher.level == level else ():
            fact = seen(look, sign)
            if isinstance(fact, Found):
                trust = _TRUST.index(sign.confidence) if sign.confidence in _TRUST else len(_TRUST)
                found.append((trust, matcher.id, fact.source))
            elif isinstance(fact, Unreadable) and sign.path and not _only_for_root(sign.path):
                refused = refused or fact
    if found:
        _, name, source = min(found, key=lambda entry: entry[0])
        return Found(name, source)
    if level == "host" and not look.system.exists(_FIRMWARE):
        return Unreadable("the firmware does not tell its maker")
    return refused or Absent("no sign of one")


def _only_for_root(path: str) -> bool:
    """Serial numbers are kept from other users everywhere; that says nothing about this host."""
    return path.rpartition("/")[2] in ("product_serial", "product_uuid")


def seen(look: Look, sign: CloudSign) -> Fact[bool]:
    """Whether a sign is there."""
    if sign.kind == "env":
        value = variables(look).get(sign.name or "")
        shown = value is not None and (sign.pattern is None or re.search(sign.pattern, value[:READ_LIMIT], re.IGNORECASE) is not None)
        return Found(True, sign.name or "") if shown else Absent(f"no {sign.name}")
    path = sign.path or ""
    if sign.pattern is None:
        return Found(True, path) if look.system.exists(path) else Absent(f"no {path}")
    text = look.once(_files).get(path)
    if text is None:
        text = look.once(_files)[path] = look.text(path)
    if not isinstance(text, Found):
        return text
    return Found(True, path) if re.search(sign.pattern, text.value, re.IGNORECASE) else Absent(f"{path} says otherwise")


def _files(look: Look) -> dict[str, Fact[str]]:
    """Texts by path: several providers are told by the same few files."""
    return {}


def variables(look: Look) -> dict[str, str]:
    """The environment, and in a container also that of its first process: a login by ssh loses what the platform set."""
    return look.once(_variables)


def _variables(look: Look) -> dict[str, str]:
    own = dict(look.env)
    if not isinstance(look.once(kind), Found):
        return own
    first = look.text("/proc/1/environ")
    pairs = (entry.partition("=") for entry in first.value.split("\0")) if isinstance(first, Found) else ()
    return {**{name: value for name, equals, value in pairs if equals}, **own}


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
    found = {
        "region": (document.v1.region if document.v1 else None) or meta.get("region-id"),
        "instance_type": meta.get("instance-type") or nested.get("instance-type"),
    }
    return {name: value[:100] for name, value in found.items() if isinstance(value, str) and value}


def _instance(look: Look) -> Fact[dict[str, str]]:
    fact = look.system.read(_INSTANCE_DATA, 1 << 20)
    if not isinstance(fact, Found):
        return Unreadable("only the metadata service tells") if isinstance(fact, Absent) else fact
    parsed = parse_instance_data(fact.value)
    return Found(parsed, _INSTANCE_DATA) if parsed is not None else Unreadable(f"{_INSTANCE_DATA} is no valid JSON")


def _told(fact: Fact[dict[str, str]], name: str) -> Fact[str]:
    if not isinstance(fact, Found):
        return fact
    return Found(fact.value[name], fact.source) if name in fact.value else Unreadable(f"not in {fact.source}")
