"""Standard output and error: bytes, whole, whatever the locale; a reader that went away is no error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from envcheck.errors import EnvcheckError

if TYPE_CHECKING:
    from envcheck.render.paint import Paint, Role

# Numbers of ECMA-48's "select graphic rendition".
_COLOURS: dict[Role, str] = {"good": "32;1", "bad": "31;1", "caution": "33;1", "heading": "1", "command": "36", "faint": "2"}


def to_stdout(data: str | bytes) -> bool:
    """Write and flush; text in the terminal's encoding, what it lacks as `?`. False when nobody reads any more."""
    stream = sys.stdout
    if stream is None:  # started with standard output closed
        return False
    raw = data if isinstance(data, bytes) else data.encode(stream.encoding or "utf-8", "replace")
    try:
        stream.flush()
        stream.buffer.write(raw)
        stream.buffer.flush()
    except BrokenPipeError:
        _hang_up()
        return False
    except OSError as error:
        _hang_up()
        raise EnvcheckError("error.cannot-write", path="standard output", why=str(error.strerror)) from None
    return True


def _hang_up() -> None:
    """Let the interpreter's last flush go nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def to_stderr(text: str) -> None:
    """Write to standard error as far as it takes it."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text.encode(sys.stderr.encoding or "utf-8", "replace").decode(sys.stderr.encoding or "utf-8", "replace"))
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def json_out(value: object) -> bool:
    """A value as indented JSON, always UTF-8."""
    import msgspec

    return to_stdout(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def schema_out(name: str, *kinds: type) -> bool:
    """The JSON Schema of an output, titled with its schema and version: one type, or one of several."""
    import msgspec

    references, definitions = msgspec.json.schema_components(kinds)
    head = references[0] if len(kinds) == 1 else {"anyOf": list(references)}
    return json_out({"title": name, **head, "$defs": definitions})


def speaks(language: str) -> bool:
    """Whether standard output can show the language's letters."""
    try:
        "中文".encode((sys.stdout.encoding if sys.stdout else None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return language != "zh"
    return True


def painter() -> Paint:
    """Colour on a terminal, none elsewhere or where NO_COLOR is set."""
    from envcheck.render.paint import plain

    if sys.stdout is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return plain

    def paint(text: str, role: Role) -> str:
        return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m"

    return paint
