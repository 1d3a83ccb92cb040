"""The sentences of claims that circulate: what is said, and what is so. They stand in files of their own, which a check never reads."""

from __future__ import annotations

import os
from functools import lru_cache

import msgspec

from envcheck.matrix.claims import Claim
from envcheck.matrix.load import Matrix
from envcheck.render.catalogue import LANGUAGES, Catalogue, Lang, shown

_TEXTS = os.path.join(os.path.dirname(__file__), "texts", "claims")


class ClaimText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim in words, with places for the facts of its record."""

    said: str
    answer: str


class ClaimOut(msgspec.Struct, frozen=True):
    """A claim and its answer; `about` = the arguments, variables and things it speaks of, `codes` = the findings it leads to."""

    id: str
    said: str
    answer: str
    about: list[str]
    codes: list[str]
    sources: list[str]


@lru_cache(maxsize=4)
def claim_texts(lang: Lang) -> dict[str, ClaimText]:
    """Every claim's sentences in one language, by id."""
    with open(os.path.join(_TEXTS, f"{lang}.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, ClaimText])


def claim_out(claim: Claim, catalogue: Catalogue) -> ClaimOut:
    """One claim, its facts put into its sentences."""
    text = claim_texts(catalogue.lang)[claim.id]
    said, answer = text.said, text.answer
    for name, value in claim.facts.items():
        place, words = "{" + name + "}", shown(value, catalogue.lang)
        said, answer = said.replace(place, words), answer.replace(place, words)
    return ClaimOut(claim.id, said, answer, claim.words, claim.codes, claim.sources)


def find_claims(matrix: Matrix, question: str) -> tuple[Claim, ...]:
    """Claims of an id or a name, else those with all the words, in any language; all of them where nothing is asked."""
    exact = tuple(claim for claim in matrix.claims if claim.id == question.lower() or claim.about(question))
    if exact:
        return exact
    wanted = question.lower().split()
    return tuple(claim for claim in matrix.claims if all(word in _words_of(claim) for word in wanted))


def _words_of(claim: Claim) -> str:
    said = (claim_texts(lang)[claim.id].said for lang in LANGUAGES)
    return " ".join((claim.id, *claim.words, *said)).lower()
