"""Type and region from a cloud's own metadata service; asked only where the user allows the network.

One provider is asked where its files named it, else those few that share the link-local address and prove who they are. Nothing is
asked for that holds a secret, and nothing is believed that does not look like a type or a region.
"""

from __future__ import annotations

import time

from envcheck.model.cloud import CloudMatcher, Question, is_private
from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.instance import taken
from envcheck.probes.look import Look

_ONE_S, _ALL_S = 0.3, 1.0
_LIMIT = 65_536  # bytes of an answer
_OK, _UNAUTHORIZED, _FORBIDDEN = 200, 401, 403
Answers = dict[str, Fact[str]]


def ask(look: Look, matcher: CloudMatcher) -> Answers:
    """What a provider's service tells, by fact; the reason where it does not."""
    answers: Answers = {}
    end = time.monotonic() + _ALL_S
    for question in matcher.metadata.questions if matcher.metadata else ():
        if time.monotonic() > end or _silent(answers):
            break
        answers.update(_answered(look, matcher, question))
    return answers


def identify(look: Look) -> tuple[CloudMatcher | None, Answers]:
    """The provider whose service answers in a form that no other has, and what it tells."""
    end = time.monotonic() + _ALL_S
    reasons: Answers = {}
    for matcher in look.matchers:
        if matcher.metadata is None or not matcher.metadata.proves or time.monotonic() > end:
            continue
        first = _answered(look, matcher, matcher.metadata.questions[0])
        if any(isinstance(fact, Found) for fact in first.values()):
            return matcher, first | {name: fact for name, fact in ask(look, matcher).items() if name not in first}
        reasons = reasons or first
        if _silent(first):  # they share one address: nobody is there
            break
    return None, reasons


def _silent(answers: Answers) -> bool:
    return any(isinstance(fact, Unreadable) for fact in answers.values())


def _answered(look: Look, matcher: CloudMatcher, question: Question) -> Answers:
    """Unreadable where nobody answered, absent where someone did, but not with the fact."""
    metadata = matcher.metadata
    if metadata is None or is_private(question.path):
        return dict.fromkeys(question.facts, Unreadable("not asked"))
    url = metadata.base + question.path
    fact = look.system.http_get(url, metadata.headers, _ONE_S, _LIMIT, direct=True)
    if not isinstance(fact, Found):
        return dict.fromkeys(question.facts, Unreadable(f"{url}: {fact.why}"))
    if fact.value.status in (_UNAUTHORIZED, _FORBIDDEN):
        return dict.fromkeys(question.facts, Absent(f"{url}: tells nobody without a session token"))
    if fact.value.status != _OK or fact.value.truncated:
        return dict.fromkeys(question.facts, Absent(f"{url}: HTTP {fact.value.status}"))
    text = fact.value.body.decode("utf-8", "replace")
    return {name: _value(text, key, question, url) for name, key in question.facts.items()}


def _value(text: str, key: str, question: Question, url: str) -> Fact[str]:
    value = taken(text, key, question.take) if text.startswith(question.begins) else None
    return Found(value, url) if value else Absent(f"{url}: no answer in the form expected")
