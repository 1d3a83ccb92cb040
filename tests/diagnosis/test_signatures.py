"""Every signature through the whole engine: its examples tell it, its near misses do not, its sentences stand in both languages."""

from __future__ import annotations

import re

import pytest

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.diagnosis.index import index_of, words_of
from envcheck.diagnosis.scan import scanned
from envcheck.matrix.load import Matrix, load
from envcheck.matrix.signatures import Signature
from envcheck.matrix.template import template
from envcheck.render.catalogue import LANGUAGES, Catalogue

MATRIX: Matrix = load()
SIGNATURES = MATRIX.signatures
BY_ID = {one.id: one for one in SIGNATURES}
TEXTS = {lang: Catalogue(lang) for lang in LANGUAGES}


def told(line: str, signature: Signature) -> list[str]:
    """The ids found in a line, after what is to stand before it."""
    before = f"{signature.before[0]}\n" if signature.before else ""
    if signature.role == "wrapper":  # it is recognised, so that it is not shown as an error of its own, and never reported
        assert not diagnose_text(line, MATRIX).findings
        return [hit.fit.signature.id for hit in scanned((line.encode(),), index_of(MATRIX)).hits]
    return [str(finding.evidence["signature"]) for finding in diagnose_text(before + line + "\n", MATRIX).findings]


@pytest.mark.parametrize("name", BY_ID)
def test_examples_tell_the_signature(name: str) -> None:
    signature = BY_ID[name]
    for line in signature.examples:
        assert told(line, signature)[:1] == [name], line


@pytest.mark.parametrize("name", [one.id for one in SIGNATURES if one.near])
def test_near_misses_do_not(name: str) -> None:
    signature = BY_ID[name]
    for line in signature.near:
        assert name not in told(line, signature), line


@pytest.mark.parametrize("name", BY_ID)
def test_each_template_can_be_found(name: str) -> None:
    for text in BY_ID[name].lines:
        assert words_of(template(text))


def holes(text: str) -> set[str]:
    return {hole.name for hole, _ in template(text).rest if hole.name}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", BY_ID)
def test_sentences_are_there_and_name_what_every_template_captures(name: str, lang: str) -> None:
    from envcheck.model.text import Text

    signature = BY_ID[name]
    captured = set.intersection(*(holes(text) for text in signature.lines))
    fixes = range(1, len(signature.fixes) + 1)
    keys = [f"signature.{name}", *(f"signature.{name}.fix" + (f"-{place}" if place > 1 else "") for place in fixes)]
    catalogue = TEXTS[lang]
    for key in keys:
        sentence = catalogue.text(Text(key, dict.fromkeys(captured, "x")))
        assert not sentence.startswith("signature."), key
        assert not re.search(r"\{[a-z_]+\}", sentence), (key, sentence)
    for fix in signature.fixes:
        for command in fix.commands:
            assert set(re.findall(r"\{([a-z_]+)\}", command)) <= captured, command


def test_few_templates_need_a_word_of_their_own_to_be_found() -> None:
    """Each such word is looked for in the first and the last 4 MiB of every log: a hundred of them would take a second."""
    assert len(index_of(MATRIX).picks) <= 130


def test_no_sentence_is_left_over() -> None:
    from envcheck.render.catalogue import _of_signatures

    known = {name for one in SIGNATURES for name in (one.id, f"{one.id}.avoid")}
    known |= {f"{one.id}.fix" + (f"-{place}" if place > 1 else "") for one in SIGNATURES for place in range(1, len(one.fixes) + 1)}
    for lang in LANGUAGES:
        assert set(_of_signatures(lang)) <= known
    assert set(_of_signatures("en")) == set(_of_signatures("zh"))
