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


def words(line: str) -> list[str]:
    """The words of a shell line as they are written, quotes and all; the whole line where a quote is not closed or a comment begins."""
    found: list[str] = []
    word, position = "", 0
    while position < len(line):
        if line[position] == " ":
            found += [word] if word else []
            word, position = "", position + 1
            continue
        end = _span(line, position)
        if end is None or (line[position] == "#" and not word):
            return [line]
        word, position = word + line[position:end], end
    return [*found, word] if word else found


def requoted(word: str) -> str:
    """A word as it is written in a shell line, quoted as `quote` does; one that expands to something stays as it is."""
    position = 0
    while position < len(word):
        end = _span(word, position)
        if end is None or (word[position] not in "'\\" and set("$`") & set(word[position:end])):
            return word
        position = end
    try:
        meant = shlex.split(word)
    except ValueError:
        return word
    return quote(meant[0]) if len(meant) == 1 else word


def _span(line: str, start: int) -> int | None:
    """Where what begins here ends: a quoted span, a substitution, an escaped character, or one character."""
    if line[start] == "\\":
        return start + 2 if start + 1 < len(line) else None
    if line[start] == "'":
        return line.find("'", start + 1) + 1 or None
    if line[start] == '"':
        return _closed(line, start + 1, '"')
    if line.startswith("$'", start):
        return _closed(line, start + 2, "'")
    if line.startswith("$(", start):
        return _closed(line, start + 2, ")")
    return start + 1


def _closed(line: str, start: int, mark: str) -> int | None:
    """Behind the mark that closes a span in which a backslash escapes; a substitution within holds spans of its own."""
    position = start
    while position < len(line):
        if line[position] == mark:
            return position + 1
        nested = mark == ")" or (mark == '"' and line.startswith("$(", position)) or line[position] == "\\"
        end = _span(line, position) if nested else position + 1
        if end is None:
            return None
        position = end
    return None


def _groups(words: Sequence[str]) -> Iterator[str]:
    """Words that belong on one line: an option with its value."""
    position = 0
    while position < len(words):
        option = words[position].startswith("-") and "=" not in words[position]
        if position and option and position + 1 < len(words) and not words[position + 1].startswith("-"):
            yield f"{words[position]} {words[position + 1]}"
            position += 2
        else:
            yield words[position]
            position += 1


def broken(argv: Sequence[str], width: int = WIDTH, indent: str = "") -> list[str]:
    r"""The command on lines of at most `width` cells where its words allow, continued with ` \`."""
    return laid([quote(word) for word in argv], width, indent)


def laid(words: Sequence[str], width: int = WIDTH, indent: str = "") -> list[str]:
    """The same for words that are quoted already."""
    lines: list[str] = []
    current = ""
    for group in _groups(words):
        lead = indent if not lines else indent + "    "
        alone = not lines and current == "export"  # on a line of its own it tells nothing
        if current and not alone and cells(lead) + cells(current) + 1 + cells(group) + 2 > width:
            lines.append(lead + current + " \\")
            current = group
        else:
            current = f"{current} {group}" if current else group
    lines.append((indent if not lines else indent + "    ") + current)
    return lines
