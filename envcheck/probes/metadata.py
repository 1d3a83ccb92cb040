"""Type and region from a cloud's own metadata service; asked only where the user allows the network.

One provider is asked where its files named it, else those few that share the link-local address and prove who they are. Nothing is
asked for that holds a secret, and nothing is believed that does not look like a type or a region.
"""

from __future__ import annotations

import time

from envcheck.model.cloud import CloudMatcher, is_private
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.instance import taken
from envcheck.probes.look import Look

_ONE_S, _ALL_S = 0.3, 1.0
_LIMIT = 1024  # bytes of an answer, which is one word or a path
_OK, _UNAUTHORIZED, _FORBIDDEN = 200, 401, 403
Answers = dict[str, Fact[str]]


def ask(look: Look, matcher: CloudMatcher) -> Answers:
    """What a provider's service tells, by fact; the reason where it does not."""
    answers: Answers = {}
    end = time.monotonic() + _ALL_S
    for question in matcher.metadata.questions if matcher.metadata else ():
        if time.monotonic() > end or _silent(answers):
            break
        text = _line(look, matcher, question.path)
        value = taken(text.value, "", question.take) if isinstance(text, Found) else None
        if isinstance(text, Found):
            text = Found(value, text.source) if value else Absent(f"{text.source}: no answer in the form expected")
        answers[question.fact] = text
    return answers


def identify(look: Look) -> tuple[CloudMatcher | None, Answers]:
    """The provider whose service proves who it is, and what it tells; else why the first one asked is not it."""
    end = time.monotonic() + _ALL_S
    first: Fact[str] | None = None
    for matcher in look.matchers:
        if matcher.metadata is None or matcher.metadata.proof is None or time.monotonic() > end:
            continue
        proof = _line(look, matcher, matcher.metadata.proof.path)
        if isinstance(proof, Found) and proof.value.startswith(matcher.metadata.proof.begins):
            return matcher, ask(look, matcher)
        first = first or (Absent(f"{proof.source} is not {matcher.id}'s") if isinstance(proof, Found) else proof)
        if isinstance(proof, Unreadable):  # they share one address: nobody is there
            break
    return None, dict.fromkeys(("instance_type", "region"), first) if first else {}


def _silent(answers: Answers) -> bool:
    return any(isinstance(fact, Unreadable) for fact in answers.values())


def _line(look: Look, matcher: CloudMatcher, path: str) -> Fact[str]:
    """An answer of one line. Unreadable where nobody answered, absent where someone did, but not with the fact."""
    metadata = matcher.metadata
    if metadata is None or is_private(path):
        return Unreadable("not asked")
    url = metadata.base + path
    fact = look.system.http_get(url, metadata.headers, _ONE_S, _LIMIT, direct=True)
    if not isinstance(fact, Found):
        return Unreadable(f"{url}: {fact.why}")
    if fact.value.status in (_UNAUTHORIZED, _FORBIDDEN):
        return Absent(f"{url}: tells nobody without a session token")
    if fact.value.status != _OK or fact.value.truncated:
        return Absent(f"{url}: HTTP {fact.value.status}, no short answer")
    return Found(fact.value.body.decode("utf-8", "replace").strip(), url)
