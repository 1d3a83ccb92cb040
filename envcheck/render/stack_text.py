"""A stack in words: which vLLM wheel, with which torch, CUDA and Python."""

from __future__ import annotations

import re

from envcheck.model.plan import Plan
from envcheck.model.stack import Clash, Stack
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page

_PARTS = r"[^\s–,;]+"  # the values of a range or list stand in a sentence one by one


def stack_name(stack: Stack) -> str:
    """`0.19.1`, or with the variant of the wheel, `0.32.0+cu129`."""
    return f"{stack.vllm}+{stack.variant}" if stack.variant else stack.vllm


def stack_line(stack: Stack, catalogue: Catalogue) -> str:
    """One line: the wheel, its torch, CUDA, Python; where that is not the host's own, that too."""
    torch = f"{stack.torch}+{stack.torch_variant}" if stack.torch_variant else stack.torch
    text = catalogue.say("stack.line", vllm=stack_name(stack), torch=torch, cuda=stack.cuda, python=stack.python)
    if stack.new_python:
        text += catalogue.say("stack.new-python", python=stack.python)
    return text


def advisories_line(stack: Stack, catalogue: Catalogue) -> str | None:
    """The security advisories open in a stack's vLLM; None where they were not counted."""
    found = stack.advisories
    if found is None:
        return None
    if not found.open:
        return catalogue.say("stack.advisories-none", date=found.as_of)
    key = "stack.advisories-newer" if found.newer_than_data else "stack.advisories"
    return catalogue.text(Text(key, {"count": found.open, "gravest": found.gravest, "date": found.as_of}))


def write_stacks(page: Page, heading: str, stacks: tuple[Stack, ...], limit: int, *, marked: bool = False) -> None:
    """Stacks under a heading, one line each, at most `limit`, and how many more there are; `marked` with their advisories."""
    if not stacks:
        return
    page.heading(heading)
    for stack in stacks[:limit]:
        page.write(stack_line(stack, page.catalogue), indent="    ", first="  ")
        mark = advisories_line(stack, page.catalogue) if marked else None
        if mark:
            page.write(mark, indent="      ", role="faint")
        for warning in stack.warnings[:1]:
            page.write(page.catalogue.text(warning.detail), indent="      ", role="caution")
    if len(stacks) > limit:
        page.say("stack.more", indent="  ", role="faint", count=len(stacks) - limit)


def clash_sentence(clash: Clash, catalogue: Catalogue) -> str:
    """The clash's sentence, with the two values added where the sentence leaves one out."""
    sentence = catalogue.text(clash.detail)
    if all(part in sentence for part in re.findall(_PARTS, f"{clash.needed} {clash.present}")):
        return sentence
    return sentence + catalogue.say("clash.two-values", needed=clash.needed, present=clash.present)


def write_not_possible(page: Page, plan: Plan) -> None:
    """The releases near the choice that do not run here, each with what clashes."""
    if not plan.not_possible:
        return
    page.heading("check.not-possible")
    for release, clashes in plan.not_possible.items():
        for clash in clashes[:1]:
            sentence = page.catalogue.say("pair", name=release, text=clash_sentence(clash, page.catalogue))
            page.write(sentence, indent="    ", first="  ")
