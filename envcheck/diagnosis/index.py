"""Which signatures a line may bear: by one word of each template, so that a line is compared with few of hundreds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from envcheck.errors import MatrixError
from envcheck.matrix.load import Matrix
from envcheck.matrix.signatures import Signature
from envcheck.matrix.template import Template, Value, template

# A line is looked at where it holds one of these, or the word by which a template without any is found. Looking for one takes half a
# millisecond a MiB, so that of a long log only the first few are looked for: what Python, a shell and a kernel say of a failure holds one.
CORE = (b"rror", b"ailed", b"xception", b"fatal", b"illed", b"WARN ")
PICKS = (
    *CORE,
    *(b"annot", b"imed out", b"enied", b"not found"),
    *(b"ailure", b"o such", b"nsupported", b"not supported", b"undefined", b"imeout", b"xceed", b"ismatch", b"nvalid", b"nable to"),
    *(b"nknown", b"out of memory", b"not available", b"incompatib", b"not compatible", b"unsatisf", b"conflict", b"equire", b"refused"),
    *(b"lready in use", b"o CUDA", b"is too old", b"o devices", b"apabilit", b"ptxas", b"only support", b"PyTorch, please"),
    *(b"NVML", b"FATAL", b"ould not", b"ouldn't", b"t match"),
    *(b"CUDA_ERROR", b"_STATUS_", b"NVRM: ", b"not detected", b"/dev/shm", b"no kernel image", b"o NVIDIA driver", b"No compiled"),
    *(b"is insufficient", b"was attempted", b"not yet init"),
    *(b"ncountered", b"ontext length", b"imum model length", b'HTTP/1.1" 4'),
    *(b"code 13", b"core dumped", b"space left", b"nough free", b"oom-kill", b"BackOff"),
    *(b"low on resource", b"nodes are available", b"status=20"),
    *(b"o module named", b"has no attribute", b"orchvision", b"does not exist", b"ould NOT", b"could be found"),
    *(b"matching ", b"on this platform", b"Because ", b"No solution", b"did not ", b"not compiled with", b"unexpected keyword"),
)
_WORD = re.compile(r"[A-Za-z0-9_]{3,}")
_COMMON = frozenset(
    (
        *("the", "and", "for", "not", "that", "with", "are", "was", "has", "have", "this", "from", "but", "error", "errors", "failed"),
        *("RuntimeError", "ValueError", "ImportError", "CUDA", "vllm", "torch", "python", "file", "line", "module", "found", "version"),
    )
)


class Known(msgspec.Struct, frozen=True):
    """One template of a signature."""

    signature: Signature
    template: Template


class Fit(msgspec.Struct, frozen=True):
    """A template that fits a line, and what its holes hold."""

    signature: Signature
    weight: int
    values: dict[str, Value]


class Index:
    """All templates by one word each."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        known = [Known(signature, _parsed(signature, text)) for signature in signatures for text in signature.lines]
        often: dict[str, int] = {}
        for one in known:
            for word in set(words_of(one.template)):
                often[word] = often.get(word, 0) + 1
        self._by_word: dict[str, list[Known]] = {}
        quiet: set[bytes] = set()
        more: set[bytes] = set()
        for one in known:
            word = min(words_of(one.template), key=lambda word: _dearness(word, often))
            self._by_word.setdefault(word, []).append(one)
            if one.signature.warns:
                quiet.add(word.encode())
            if not any(picked(literal) for literal in one.template.literals):
                more.add(word.encode())
        self.picks = (*PICKS, *sorted(more))
        self.quiet = frozenset(quiet)  # words of those that count at the level of information or a warning too

    def fits(self, line: str) -> Iterator[Fit]:
        """The templates that fit a line, in no order."""
        for word in self._by_word.keys() & set(_WORD.findall(line)):
            for one in self._by_word[word]:
                values = one.template.match(line)
                if values is not None and not any(text in line for text in one.signature.unless):
                    yield Fit(one.signature, one.template.weight, values)


def words_of(found: Template) -> list[str]:
    """The whole words of a template: not those that a hole may go on with. Raises ValueError where there is none."""
    words: list[str] = []
    for place, literal in enumerate((found.first, *(literal for _, literal in found.rest))):
        inner = literal if place == 0 else _after_break(literal)
        words += _WORD.findall(inner if place == len(found.rest) else _before_break(inner))
    if not words:
        raise ValueError(f"`{found.text}` has no whole word to find it by")
    return words


def picked(text: str) -> bool:
    """Whether lines with this text are looked at."""
    data = text.encode()
    return any(word in data for word in PICKS)


def _parsed(signature: Signature, text: str) -> Template:
    try:
        found = template(text)
        words_of(found)
    except ValueError as error:
        raise MatrixError("error.matrix-invalid", file="matrices/signatures", why=f"{signature.id}: {error}") from None
    return found


@lru_cache(maxsize=4)
def index_of(matrix: Matrix) -> Index:
    """The index of a matrix."""
    return Index(matrix.signatures)


def _dearness(word: str, often: dict[str, int]) -> tuple[bool, int, int]:
    """Rare and long words first."""
    return word in _COMMON, often[word], -len(word)


def _after_break(literal: str) -> str:
    found = re.search(r"[^A-Za-z0-9_]", literal)
    return literal[found.start() :] if found else ""


def _before_break(literal: str) -> str:
    found = re.search(r"[A-Za-z0-9_]+$", literal)
    return literal[: found.start()] if found else literal
