"""`envcheck explain CODE`: one finding code in full; also one argument or variable of vLLM, and claims that circulate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envcheck.cli.asked import Common
from envcheck.cli.options import SERVE_SETTINGS, common
from envcheck.cli.output import json_out, schema_out, to_stdout
from envcheck.cli.world import load_matrix
from envcheck.errors import ExitCode, UsageError
from envcheck.render.catalogue import Catalogue

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.planning.about import About
    from envcheck.render.claims import ClaimOut

_LONGEST = 80  # characters of a question; more is none
_PREFIXES = ("-", "VLLM_")


@click.command("explain", context_settings=SERVE_SETTINGS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[CODE|WORD...|--ARGUMENT [VALUE]|VARIABLE]")
@click.option("--list", "listing", is_flag=True, help="Every code with its title, by theme; the same without a code.")
@click.option("--claims", "claims", is_flag=True, help="What is said of vLLM and is wrong; with words, what speaks of them.")
@common(host=False)
def command(asked: Common, words: tuple[str, ...], listing: bool, claims: bool) -> int:
    """Explain a finding code: what it means, why it happens, how to check it, how to fix it, what not to do.

    Words find codes too: one code is explained, several are listed. An argument of `vllm serve` or a variable of vLLM is explained by its
    releases, its forms, and what does its work where it is missing.
    """
    from envcheck.render.about_text import AboutOut
    from envcheck.render.jsonmodel import EXPLAIN_SCHEMA, ExplainOut

    if asked.schema:
        schema_out(EXPLAIN_SCHEMA, ExplainOut, list[ExplainOut], AboutOut)  # one code, several, or an argument, a variable, claims
        return int(ExitCode.READY)
    question = " ".join(words).strip()[:_LONGEST]
    if claims:
        return _claims(asked, question)
    if words and words[0].startswith(_PREFIXES):
        return _setting(asked, *words[0].partition("=")[::2], words[1:])
    return _codes(asked, question, listing or not words)


def _codes(asked: Common, question: str, every: bool) -> int:
    from envcheck.render.explain_page import explain_out, find_codes, in_order
    from envcheck.render.explain_text import codes_text, explain_text, found_text

    catalogue, matrix = asked.catalogue, load_matrix(asked)
    codes = in_order() if every else _exact(question, catalogue) or find_codes(question, catalogue)
    if not codes:
        return _other(asked, question, matrix)
    pages = [page for code in codes if (page := explain_out(code, catalogue, matrix))]
    if asked.output == "json":
        json_out(pages if every or len(pages) > 1 else pages[0])
    elif every:
        to_stdout(codes_text(catalogue, asked.paint))
    elif len(pages) > 1:
        to_stdout(found_text(question, codes, catalogue, asked.paint))
    else:
        to_stdout(explain_text(pages[0], catalogue, asked.paint))
    return int(ExitCode.READY)


def _other(asked: Common, question: str, matrix: Matrix) -> int:
    """A question that no code answers: an argument without its hyphens, or a claim."""
    from envcheck.planning.about import about
    from envcheck.render.claims import find_claims

    name = "--" + "-".join(question.lower().replace("_", "-").split())
    if about(matrix, name) is not None:
        return _setting(asked, name, "", ())
    if find_claims(matrix, question):
        return _claims(asked, question)
    raise _unknown(question, asked.catalogue)


def _setting(asked: Common, name: str, value: str, more: tuple[str, ...]) -> int:
    """One argument or variable; a value may stand behind it."""
    from envcheck.model.secret_names import is_secret_argument
    from envcheck.planning.about import about, nearest
    from envcheck.render.claims import claim_out

    matrix, catalogue = load_matrix(asked), asked.catalogue
    dashed = name.replace("_", "-") if name.startswith("--") else name
    told = value or (more[0] if more else None)
    found = about(matrix, dashed, None if is_secret_argument(dashed) else told)
    if found is None:
        near = nearest(matrix, dashed)
        key = "error.unknown-setting-near" if near else "error.unknown-setting"
        raise UsageError(key, name=dashed[:_LONGEST], near=catalogue.listed(near))
    by_id = {claim.id: claim for claim in matrix.claims}
    return _print_about(asked, found, [claim_out(by_id[one], catalogue) for one in found.claims])


def _claims(asked: Common, question: str) -> int:
    from envcheck.render.claims import claim_out, find_claims

    matrix = load_matrix(asked)
    found = find_claims(matrix, question)
    if not found:
        raise UsageError("error.unknown-claim", words=question)
    return _print_about(asked, None, [claim_out(claim, asked.catalogue) for claim in found])


def _print_about(asked: Common, found: About | None, claims: list[ClaimOut]) -> int:
    from envcheck.render.about_text import about_out, about_text

    out = about_out(found, claims, asked.catalogue)
    if asked.output == "json":
        json_out(out)
    else:
        to_stdout(about_text(out, asked.catalogue, asked.paint))
    return int(ExitCode.READY)


def _exact(question: str, catalogue: Catalogue) -> tuple[str, ...]:
    code = "-".join(question.lower().split())
    return (code,) if code in catalogue.codes() else ()


def _unknown(question: str, catalogue: Catalogue) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(question.lower(), catalogue.codes(), 3)
    key = "error.unknown-code-near" if near else "error.unknown-code"
    return UsageError(key, code=question, near=catalogue.listed(near))
