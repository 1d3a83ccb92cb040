"""One finding code in full, put together from its page, the rules, the matrix; and codes found by words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from envcheck.matrix.load import Matrix
from envcheck.render.catalogue import LANGUAGES, Catalogue
from envcheck.render.jsonmodel import ExplainOut
from envcheck.render.themes import THEMES, theme_of
from envcheck.rules import memory
from envcheck.rules.registry import ENVIRONMENT_RULES, HOST_RULES, JUDGE_CODES, LAST_RULES, reads_of

# Codes that also rest on the model or the arguments asked for, which are no facts of a host.
OF_REQUEST = frozenset(
    (
        "bf16-unsupported-gpu",
        "compiler-missing-for-jit",
        "disk-full",
        "fp8-unsupported-gpu",
        "gpu-load-uneven",
        "gpu-memory-busy",
        "host-memory-too-small",
        "known-bad-package",
        "model-hub-unreachable",
        "nccl-misconfigured",
        "nvcc-missing-for-jit",
        "p2p-broken",
        "parallel-size-invalid",
        "python-module-missing",
        "quantization-unsupported-gpu",
        "release-vulnerable",
        "server-exposed",
        "shm-too-small",
        "trust-remote-code",
    )
)
_GRAVEST_FIRST: tuple[Literal["error", "warning", "info"], ...] = ("error", "warning", "info")
_SHORTEST_PART = 3  # letters of a word that may stand for the beginning of a longer one


def explain_out(code: str, catalogue: Catalogue, matrix: Matrix) -> ExplainOut | None:
    """The page of a code; None where the vocabulary does not have it."""
    page = catalogue.page(code)
    if page is None:
        return None
    reads = reads_of(code)
    record = matrix.codes.get(code)
    return ExplainOut(
        code=code,
        title=catalogue.title(code),
        theme=theme_of(code),
        what=page.what,
        why=page.why,
        severity={kind: page.severity[kind] for kind in _GRAVEST_FIRST if kind in page.severity},
        detected_by=list(_detection(code, reads)),
        reads=list(reads),
        check=page.check,
        fix="\n".join(page.fix),
        avoid="\n".join(page.avoid),
        explains=_ordered(matrix.causes.get(code, frozenset())),
        explained_by=_ordered(frozenset(other for other, codes in matrix.causes.items() if code in codes)),
        settled_by=[f"observed.{name}" for name, codes in matrix.observations.items() if code in codes],
        sources=list(record.sources) if record else [],
    )


def _detection(code: str, reads: tuple[str, ...]) -> Iterator[Literal["facts", "request", "memory-budget", "output"]]:
    if reads:
        yield "facts"
    if code in OF_REQUEST:
        yield "request"
    if code in memory.CODES.values():
        yield "memory-budget"
    elif not reads:
        yield "output"


def in_order() -> tuple[str, ...]:
    """Every code, theme by theme."""
    return tuple(code for _, codes in THEMES for code in codes)


def _ordered(codes: frozenset[str]) -> list[str]:
    return [code for code in in_order() if code in codes]


def softened(code: str) -> bool:
    """Whether only rules on the present environment raise a code, so that a fresh one is never blocked by it."""
    everywhere = {name for rule in (*HOST_RULES, *LAST_RULES) for name in rule.codes} | set(JUDGE_CODES)
    return code not in everywhere and any(code in rule.codes for rule in ENVIRONMENT_RULES)


def find_codes(words: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Codes that words speak of: all of them in the code, else in its title in any language, else in its page."""
    wanted = [word for word in words.lower().replace("-", " ").split() if word]
    if not wanted:
        return ()
    every = tuple(Catalogue(lang) for lang in LANGUAGES)
    for place in (_by_name, _by_title, _by_page):
        found = tuple(code for code in in_order() if place(wanted, code, (catalogue, *every)))
        if found:
            return found
    return ()


def _by_name(wanted: list[str], code: str, _: tuple[Catalogue, ...]) -> bool:
    parts = code.split("-")
    return all(any(part == word or (len(word) >= _SHORTEST_PART and part.startswith(word)) for part in parts) for word in wanted)


def _by_title(wanted: list[str], code: str, catalogues: tuple[Catalogue, ...]) -> bool:
    return any(all(word in catalogue.title(code).lower() for word in wanted) for catalogue in catalogues)


def _by_page(wanted: list[str], code: str, catalogues: tuple[Catalogue, ...]) -> bool:
    for catalogue in catalogues:
        page = catalogue.page(code)
        text = " ".join((page.what, page.why, page.check, *page.fix, *page.avoid)).lower() if page else ""
        if all(word in text for word in wanted):
            return True
    return False
