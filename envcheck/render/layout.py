"""Lines that fit a terminal of 80 columns: cell widths (Chinese characters take two), wrapping, indentation."""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 80
_NARROWEST = 8  # cells a line has at least, however deep it is indented
_BREAKS = "/,=_-."  # a path, a list or a name is best broken behind one of these
_NOT_FIRST = frozenset("，。、；：？！）】》”’%…,.;:?!)]}")  # a line must not begin with these


def cells(text: str) -> int:
    """Terminal cells a text takes: one a character, two for a wide one, none for a combining one."""
    if text.isascii() or all(char < "\u0300" or "\u2010" <= char <= "\u2027" for char in text):  # the letters and signs of English
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 (English, the usual case, needs no table)

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, width: int) -> str:
    """The text filled with spaces to `width` cells."""
    return text + " " * max(0, width - cells(text))


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Unbreakable pieces with whether a space goes before them. A span in backticks is one piece, so that it can be copied whole."""
    word, space, quoted = "", False, False
    for char in text:
        quoted ^= char == "`"
        if char == " " and not quoted:
            if word:
                yield word, space
            word, space = "", True
        elif not quoted and cells(char) == 2 and char not in _NOT_FIRST:
            if word:
                yield word, space
                space = False
            word = char
        elif not quoted and word and cells(word[-1]) == 2 and char not in _NOT_FIRST:
            yield word, space
            word, space = char, False
        else:
            word += char
    if word:
        yield word, space


def _pieces(text: str, width: int) -> Iterator[tuple[str, bool]]:
    """Words, those too wide for a line broken: a quoted span at its spaces, an address never (it must be copied whole), the rest hard."""
    for word, space in _words(text):
        if cells(word) <= width or ("://" in word and " " not in word):
            yield word, space
            continue
        for index, part in enumerate(word.split(" ")):
            before = space if index == 0 else True
            while cells(part) > width:
                cut = _cut(part, width)
                yield part[:cut], before
                part, before = part[cut:], False  # noqa: PLW2901
            if part:
                yield part, before


def _cut(text: str, width: int) -> int:
    """Where a word too wide for a line is broken: behind a slash or the like in the line's later half, else where the line ends."""
    most = max(1, _fitting(text, width))
    behind = max(text.rfind(mark, 0, most) for mark in _BREAKS) + 1
    return behind if behind > most // 2 else most


def _fitting(text: str, width: int) -> int:
    total = 0
    for position, char in enumerate(text):
        total += cells(char)
        if total > width:
            return position
    return len(text)


def wrap_parts(text: str, separator: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Lines broken behind the separators; a part wider than a line is broken like any text. The indent begins with the second line."""
    *heads, last = text.split(separator)
    lines: list[str] = []
    current = ""
    for part in (*(head + separator.rstrip() for head in heads), last):
        lead = indent if lines else ""
        if current and cells(lead + current) + 1 + cells(part) > width:
            lines += wrap(current, width, indent, first=lead)
            current = part
        else:
            current = f"{current} {part}" if current else part
    return lines + wrap(current, width, indent, first=indent if lines else "")


def wrap(text: str, width: int = WIDTH, indent: str = "", first: str | None = None) -> list[str]:
    """Lines of at most `width` cells, the first led by `first` (default: the indent), the others by `indent`."""
    lead = indent if first is None else first
    narrow = max(width - max(cells(indent), cells(lead)), _NARROWEST)
    lines: list[str] = []
    line, used = "", 0
    for piece, space in _pieces(text, narrow):
        size = cells(piece)
        gap = 1 if space and line else 0
        room = max(width - cells(indent if lines else lead), _NARROWEST)
        if line and used + gap + size > room:
            lines.append(line)
            line, used = piece, size
        else:
            line, used = line + " " * gap + piece, used + gap + size
    lines.append(line)
    return [(lead if index == 0 else indent) + line for index, line in enumerate(lines)]
