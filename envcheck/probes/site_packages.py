"""The folders the target interpreter imports from, each listed once a visit and shared by every probe that looks into them."""

from __future__ import annotations

import re

import msgspec

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.probes.interpreter import target
from envcheck.probes.look import Look

_MOST = 8192  # names of one folder


class Site(msgspec.Struct, frozen=True):
    """A folder and the names in it."""

    path: str
    names: frozenset[str]


def sites(look: Look) -> Fact[tuple[Site, ...]]:
    """The folders that are there, in order of import, each real folder once; `lib64` is often a link to `lib`."""
    interpreter = look.once(target)
    if not isinstance(interpreter, Found):
        return interpreter
    there = [site for site in interpreter.value.sites if look.system.exists(site)]
    if not there:
        return Unreadable(f"{interpreter.value.executable}: no site-packages folder found")
    found: dict[str, Site] = {}
    for site in there:
        real = look.system.resolve(site) if len(there) > 1 else Found(site, site)
        place = real.value if isinstance(real, Found) else site
        if place not in found:
            found[place] = Site(site, _listed(look, site))
    return Found(tuple(found.values()), ", ".join(site.path for site in found.values())[:300])


def _listed(look: Look, site: str) -> frozenset[str]:
    start = len(site) + 1
    return frozenset(path[start:] for path in look.system.glob(f"{literal(site)}/*", _MOST))


def literal(path: str) -> str:
    """The pattern that matches just this path."""
    return re.sub(r"([*?[])", r"[\1]", path) if any(sign in path for sign in "*?[") else path
