"""Commands as a person copies them: quoted for bash, always on lines of their own, long ones continued with a backslash."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from envcheck.render.layout import WIDTH, cells

_EXPANDING = frozenset("$`\\")
_KEYWORDS = frozenset(
    (
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "select",
        "function",
        "time",
        "coproc",
    )
)
_UNSAFE_IN_DOUBLE = _EXPANDING | {'"', "!"}


def quote(word: str) -> str:
    r"""One word quoted for bash on one line.

    Words with characters that a terminal would act on, or that look like an expansion that was meant, are written `$'…'` with escapes.
    """
    if word.isprintable() and not _EXPANDING & set(word):
        if "'" in word and not _UNSAFE_IN_DOUBLE & set(word):
            return f'"{word}"'  # `it's` reads better so than as 'it'"'"'s'
        quoted = shlex.quote(word)
        return f"'{quoted}'" if quoted == word and _misleading(word) else quoted
    out = []
    for char in word.replace("\0", ""):
        if char in "\\'":
            out.append("\\" + char)
        elif char.isprintable():
            out.append(char)
        else:
            # A name from the file system may hold bytes that are no UTF-8; JSON may hold a lone surrogate.
            how = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
            out.extend(f"\\x{byte:02x}" for byte in char.encode("utf-8", how))
    return "$'" + "".join(out) + "'"


def _misleading(word: str) -> bool:
    """Whether a bare word is right for bash and yet reads as syntax: a list in an array, an assignment, a keyword."""
    return word.startswith("=") or "," in word or "+=" in word or word in _KEYWORDS


def line(argv: Sequence[str]) -> str:
    """The whole command on one line."""
    return " ".join(quote(word) for word in argv)


def _groups(argv: Sequence[str]) -> Iterator[str]:
    """Words that belong on one line: an option with its value."""
    words = [quote(word) for word in argv]
    position = 0
    while position < len(words):
        option = argv[position].startswith("-") and "=" not in argv[position]
        if position and option and position + 1 < len(words) and not argv[position + 1].startswith("-"):
            yield f"{words[position]} {words[position + 1]}"
            position += 2
        else:
            yield words[position]
            position += 1


def broken(argv: Sequence[str], width: int = WIDTH, indent: str = "") -> list[str]:
    r"""The command on lines of at most `width` cells where its words allow, continued with ` \`."""
    lines: list[str] = []
    current = ""
    for group in _groups(argv):
        lead = indent if not lines else indent + "    "
        if current and cells(lead) + cells(current) + 1 + cells(group) + 2 > width:
            lines.append(lead + current + " \\")
            current = group
        else:
            current = f"{current} {group}" if current else group
    lines.append((indent if not lines else indent + "    ") + current)
    return lines
