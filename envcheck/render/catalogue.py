"""The message catalogue: sentences for people, in English and Chinese, apart from the code that decides.

Sentences are data (`texts/<language>.json`, flat keys). A placeholder is a plain name with an optional number format, `{gib:.1f}`; there
is no attribute or index access, so a hostile parameter can only ever be shown, never evaluated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

from envcheck.model.text import Param, Text

if TYPE_CHECKING:
    from envcheck.model.finding import Finding

Lang = Literal["en", "zh"]
LANGUAGES: tuple[Lang, ...] = ("en", "zh")

_TEXTS = os.path.join(os.path.dirname(__file__), "texts")
_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)(?::([^{}]*))?\}")
_LONGEST_PARAM = 600  # cells; a longer value is an attack or a mistake, and hides the sentence around it
_SIGNATURE = "signature."
_LIST_SEPARATOR: dict[Lang, str] = {"en": ", ", "zh": "、"}


class ExplainPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One finding code in full: what it is, why it happens, how to check it by hand, how to fix it, what not to do.

    `fix` = steps, the least intrusive first; `avoid` = common advice that is wrong, each with the reason; `severity` = when the finding
    is an `error`, a `warning` or an `info`, for those that it can be.
    """

    what: str
    why: str
    check: str
    fix: list[str]
    avoid: list[str]
    severity: dict[Literal["error", "warning", "info"], str]


def choose_language(option: str | None, env: Mapping[str, str]) -> Lang:
    """The language of `--lang`, else of ENVCHECK_LANG, else of the locale; English where none says Chinese."""
    for wanted in (option, env.get("ENVCHECK_LANG")):
        if wanted and wanted.lower()[:2] in LANGUAGES:
            return "zh" if wanted.lower().startswith("zh") else "en"
    locale = env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


def clean(text: str) -> str:
    """The text on one line without control, direction or invisible characters, which could rewrite a terminal or split a comment."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "?" for char in text)


def shown(value: Param, lang: Lang = "en", number_format: str | None = None) -> str:
    """A parameter as people read it; numbers with at most two decimals unless the sentence says otherwise."""
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if number_format:
            return format(value, number_format)
        return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    text = clean(value if isinstance(value, str) else _LIST_SEPARATOR[lang].join(str(item) for item in value))
    return text if len(text) <= _LONGEST_PARAM else text[:_LONGEST_PARAM] + "…"


@lru_cache(maxsize=4)
def _sentences(lang: Lang) -> dict[str, str]:
    with open(os.path.join(_TEXTS, f"{lang}.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, str])


@lru_cache(maxsize=4)
def _of_signatures(lang: Lang) -> dict[str, str]:
    """Apart from the others, since only a log needs them. The keys stand there without their first part, `signature.`."""
    with open(os.path.join(_TEXTS, "signatures", f"{lang}.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, str])


@lru_cache(maxsize=4)
def _pages(lang: Lang) -> dict[str, ExplainPage]:
    with open(os.path.join(_TEXTS, "explain", f"{lang}.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, ExplainPage])


class Catalogue:
    """Renders catalogue texts in one language; a sentence missing there is the English one, and one missing in both its key."""

    def __init__(self, lang: Lang = "en") -> None:
        self.lang: Lang = lang
        self._own = _sentences(lang)

    def _sentence(self, key: str) -> str | None:
        if key.startswith(_SIGNATURE):
            inner = key.removeprefix(_SIGNATURE)
            return _of_signatures(self.lang).get(inner) or _of_signatures("en").get(inner)
        return self._own.get(key) or _sentences("en").get(key)

    def text(self, text: Text) -> str:
        """The sentence of a Text. Never raises: a missing parameter stays visible as its placeholder."""
        sentence = self._sentence(text.key)
        if sentence is None:
            return _bare(text, self.lang)
        params = text.params

        def fill(match: re.Match[str]) -> str:
            name, number_format = match.group(1), match.group(2)
            if name not in params:
                return match.group(0)
            try:
                return shown(params[name], self.lang, number_format)
            except (ValueError, TypeError):
                return shown(params[name], self.lang)

        return _PLACEHOLDER.sub(fill, sentence)

    def say(self, key: str, /, **params: Param) -> str:
        """The sentence of a key and its parameters."""
        return self.text(Text(key, params))

    def listed(self, items: Iterable[str]) -> str:
        """Items as a list within a sentence."""
        return _LIST_SEPARATOR[self.lang].join(items)

    def title(self, code: str) -> str:
        """The title of a finding code; the code itself where the vocabulary does not have it."""
        return self._sentence(f"title.{code}") or clean(code)

    def warned(self, finding: Finding) -> str | None:
        """Wrong advice that is common for what a log tells; None where none is known."""
        key = f"{finding.detail.key}.avoid"
        return self.text(Text(key, finding.detail.params)) if self._sentence(key) else None

    def page(self, code: str) -> ExplainPage | None:
        """The explain page of a code; None where there is none in any language."""
        return _pages(self.lang).get(code) or _pages("en").get(code)

    def codes(self) -> tuple[str, ...]:
        """Every code with an explain page, sorted."""
        return tuple(sorted(_pages("en")))


def _bare(text: Text, lang: Lang) -> str:
    params = ", ".join(f"{clean(name)}={shown(value, lang)}" for name, value in text.params.items())
    return f"{clean(text.key)} ({params})" if params else clean(text.key)
