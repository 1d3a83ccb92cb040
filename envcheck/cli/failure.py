"""What went wrong, in one sentence on standard error, and as an exit status."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from envcheck.cli.output import to_stderr
from envcheck.errors import EnvcheckError, ExitCode
from envcheck.model.text import Text
from envcheck.render.catalogue import Catalogue, choose_language


def report_failure(error: Exception, words: Sequence[str]) -> int:
    """The status of an exception that ended the command line `words`, its sentence said."""
    if isinstance(error, EnvcheckError):
        _complain(error.text, words)
        return int(error.exit_code)
    import click  # whatever is no error of ours may be one of its

    if isinstance(error, click.ClickException):
        with suppress(OSError):  # nobody can be told
            error.show(file=sys.stderr)
        return int(ExitCode.USAGE)
    if isinstance(error, click.Abort):
        return int(ExitCode.INTERRUPTED)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # click wrote its help; every other write is ours and says so
        _complain(Text("error.cannot-write", {"path": "standard output", "why": str(error.strerror)}), words)
        return int(ExitCode.INTERNAL)
    return _bug(error, words)


def _bug(error: Exception, words: Sequence[str]) -> int:
    """A fault of ours: where it happened only for those who ask."""
    if os.environ.get("ENVCHECK_DEBUG") or {"-v", "--verbose"} & set(words):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    _complain(Text("error.internal", {"kind": type(error).__name__, "what": str(error)[:300]}), words)
    return int(ExitCode.INTERNAL)


def _complain(text: Text, words: Sequence[str]) -> None:
    to_stderr(f"envcheck: {Catalogue(choose_language(_language_option(words), os.environ)).text(text)}\n")


def _language_option(words: Sequence[str]) -> str | None:
    """What `--lang` says in a command line that may not have been understood."""
    after = next((words[index + 1] for index, word in enumerate(words[:-1]) if word == "--lang"), None)
    return after or next((word.partition("=")[2] for word in words if word.startswith("--lang=")), None)
