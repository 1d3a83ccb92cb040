"""The entry point: `run` returns the exit status and lets errors through, `main` turns errors into one sentence and a status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from envcheck.errors import EnvcheckError, ExitCode
from envcheck.model.text import Text


def run(argv: Sequence[str]) -> int:
    """Run a command line (without the program's name); the exit status. Raises what went wrong."""
    from envcheck.cli.group import cli

    status = cli.main(args=list(argv), prog_name="envcheck", standalone_mode=False)
    return int(status or 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and never raise: every error ends as one sentence on standard error and its exit status."""
    words = [_readable(word) for word in (sys.argv[1:] if argv is None else argv)]
    try:
        return run(words)
    except EnvcheckError as error:
        _complain(error.text, words)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except Exception as error:  # the last line of defence; what it catches is a bug of ours or click's refusal
        return _refused(error) or _bug(error, words)


def _readable(word: str) -> str:
    """An argument as valid text: bytes that are no UTF-8 would break every later output."""
    return word.encode("utf-8", "replace").decode("utf-8", "replace") if not word.isascii() else word


def _refused(error: Exception) -> int | None:
    """Click's own errors: usage, and an interrupt while it was reading. None where it is none of them."""
    import click

    if isinstance(error, click.ClickException):
        error.show(file=sys.stderr)
        return int(ExitCode.USAGE)
    return int(ExitCode.INTERRUPTED) if isinstance(error, click.Abort) else None


def _bug(error: Exception, words: Sequence[str]) -> int:
    if os.environ.get("ENVCHECK_DEBUG") or {"-v", "--verbose"} & set(words):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    _complain(Text("error.internal", {"kind": type(error).__name__, "what": str(error)[:300]}), words)
    return int(ExitCode.INTERNAL)


def _complain(text: Text, words: Sequence[str]) -> None:
    """One sentence on standard error in the chosen language; standard error itself may be closed or of a narrow encoding."""
    from envcheck.cli.output import to_stderr
    from envcheck.render.catalogue import Catalogue, choose_language

    option = next((words[index + 1] for index, word in enumerate(words[:-1]) if word == "--lang"), None)
    option = option or next((word.partition("=")[2] for word in words if word.startswith("--lang=")), None)
    to_stderr(f"envcheck: {Catalogue(choose_language(option, os.environ)).text(text)}\n")
