"""The machine's maker and the platform on top of it, by the matrix's signs: files and environment, and a metadata service if allowed.

Inside a container the firmware files show the host, so maker and platform are told apart; both may be known at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from envcheck.model.cloud import CloudMatcher, CloudSign
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, first_found
from envcheck.probes.instance import at_boot, text_of, told_by, variable
from envcheck.probes.look import Look

if TYPE_CHECKING:
    from envcheck.probes.metadata import Answers

FIELDS = ("cloud.provider", "cloud.instance_type", "cloud.region", "cloud.platform")
# How far a sign is to be trusted, best first; what is not listed comes last.
_TRUST = ("reference", "vendor_doc", "kernel_log", "public_code", "general_knowledge", "weak")
_FIRMWARE = "/sys/class/dmi/id"  # where nearly every sign of a machine's maker lies
_NOT_ASKED = Unreadable("only the metadata service tells; `--network` asks it")


class Sighting(msgspec.Struct, frozen=True):
    """A provider, what shows it, and how much that is worth: the smallest is the best."""

    worth: tuple[int, int, int]
    id: str
    source: str


class Sightings(msgspec.Struct, frozen=True):
    """Every provider of a level that shows, best first, and why the other signs did not."""

    found: tuple[Sighting, ...]
    gaps: tuple[Absent | Unreadable, ...]


def probe(look: Look) -> Facts:
    """All facts under `cloud`."""
    provider = look.once(provider_of)
    platform = look.once(platform_of)
    return {
        "cloud.provider": provider,
        "cloud.platform": platform,
        "cloud.instance_type": first_found(_about(look, "instance_type")),
        "cloud.region": first_found(_about(look, "region")),
    }


def platform_of(look: Look) -> Fact[str]:
    """The service on top of the machine, with the strongest sign; of two, the one that others build on yields."""
    return _best(look.once(_platforms))


def provider_of(look: Look) -> Fact[str]:
    """The machine's maker: by its signs, by what a platform says of itself, or by who answers for the metadata."""
    known = look.once(_makers)
    best = _best(known)
    if isinstance(best, Found):
        return best
    asked = look.once(_asked)[0]
    if asked and asked.metadata:
        return first_found((best, Found(asked.id, asked.metadata.base)))
    guest = look.once(_guests).found
    if guest:
        return first_found((Unreadable(f"{guest[0].source}: a virtual machine, whose owner the firmware does not tell"), *known.gaps))
    if not look.system.exists(_FIRMWARE):
        return first_found((Unreadable(f"{_FIRMWARE} is not there, so the firmware does not tell its maker"), *known.gaps))
    return best


def _best(sightings: Sightings) -> Fact[str]:
    """The first sighting, the others among what was tried; unreadable where none was found and a sign could not be looked at."""
    if not sightings.found:
        return first_found((Absent("no sign of one"), *sightings.gaps))
    best, *rest = sightings.found
    others = [Absent(f"{one.source} shows {one.id}, but is the weaker sign") for one in rest if one.id != best.id]
    return first_found((*others, Found(best.id, best.source)))


def _platforms(look: Look) -> Sightings:
    return _seen(look, "platform")


def _guests(look: Look) -> Sightings:
    return _seen(look, "guest")


def _makers(look: Look) -> Sightings:
    """A platform's word for its machine's maker counts as much as the sign of the platform, but less than an equal sign of a maker."""
    seen = _seen(look, "host")
    implied = [sighting for platform in look.once(_platforms).found for sighting in _implied(look, platform)]
    return Sightings(tuple(sorted((*seen.found, *implied), key=lambda one: one.worth)), seen.gaps)


def _implied(look: Look, platform: Sighting) -> Iterator[Sighting]:
    matcher = matcher_of(look, platform.id)
    worth = (platform.worth[1], 1, platform.worth[2])
    for fact in told_by(look, matcher, "provider"):
        if isinstance(fact, Found):
            yield Sighting(worth, fact.value, fact.source)
    if matcher and matcher.provider:
        yield Sighting(worth, matcher.provider, platform.source)


def _seen(look: Look, level: str) -> Sightings:
    found: list[Sighting] = []
    gaps: list[Absent | Unreadable] = []
    for place, matcher in enumerate(look.matchers):
        for sign in matcher.signs if matcher.level == level else ():
            fact = seen(look, sign)
            if isinstance(fact, Found):
                trust = _TRUST.index(sign.confidence) if sign.confidence in _TRUST else len(_TRUST)
                # A maker's worth begins with its trust; a platform's with whether others build on it.
                worth = (trust, 0, place) if level != "platform" else (int(matcher.generic), trust, place)
                found.append(Sighting(worth, matcher.id, fact.source))
            else:
                gaps.append(fact)
    return Sightings(tuple(sorted(found, key=lambda one: one.worth)), tuple(gaps))


def seen(look: Look, sign: CloudSign) -> Fact[bool]:
    """Whether a sign is there."""
    if sign.kind == "env":
        value = variable(look, sign.name or "")
        return Found(True, sign.name or "") if value is not None and sign.fits(value) else Absent(f"no {sign.name}")
    path = sign.path or ""
    if sign.value is None:
        return Found(True, path) if look.system.exists(path) else Absent(f"no {path}")
    text = text_of(look, path)
    if not isinstance(text, Found):
        # Serial numbers are kept from other users everywhere; that says nothing about this host.
        return Absent(text.why) if path.endswith(("/product_serial", "/product_uuid")) else text
    return Found(True, path) if sign.fits(text.value) else Absent(f"{path} is not {sign.value}")


def matcher_of(look: Look, name: str) -> CloudMatcher | None:
    """The record of a provider."""
    return next((matcher for matcher in look.matchers if matcher.id == name), None)


def _asked(look: Look) -> tuple[CloudMatcher | None, Answers]:
    """Who was asked for metadata, and the answers; nobody where the network was not allowed."""
    if look.network is None:
        return None, {}
    best = _best(look.once(_makers))
    from envcheck.probes.metadata import ask, identify  # noqa: PLC0415  # only where the network may be asked

    if not isinstance(best, Found):
        return identify(look)
    matcher = matcher_of(look, best.value)
    return (matcher, ask(look, matcher)) if matcher and matcher.metadata else (None, {})


def _about(look: Look, fact: str) -> Iterator[Fact[str]]:
    """Type or region: what was learnt at boot, what platform and maker tell, what the metadata service says.

    A platform names types and regions in its own way, so it is heard only about its own machines.
    """
    yield at_boot(look, fact)
    provider, platform = look.once(provider_of), look.once(platform_of)
    maker = matcher_of(look, provider.value) if isinstance(provider, Found) else None
    service = matcher_of(look, platform.value) if isinstance(platform, Found) else None
    if service and (maker is None or maker.id == service.provider or any(tell.fact == "provider" for tell in service.tells)):
        yield from told_by(look, service, fact)
    if maker and maker is not service:
        yield from told_by(look, maker, fact)
    yield _asked_about(look, fact, provider, platform)


def _asked_about(look: Look, fact: str, provider: Fact[str], platform: Fact[str]) -> Fact[str]:
    """What the metadata service says; where it says nothing, the fact is there all the same, unless there is no cloud."""
    answer = look.once(_asked)[1].get(fact)
    if isinstance(answer, Found):
        return answer
    if isinstance(provider, Absent) and isinstance(platform, Absent):
        return Absent("no cloud")
    if look.network is None:
        return _NOT_ASKED
    return Unreadable(answer.why if answer else "no metadata service that tells it")
