"""The entry point: `run` returns the exit status and lets errors through, `main` turns errors into one sentence and a status.

Imports stand in the functions: `--version` and a bare `envcheck` need no click, `--help` nothing but click.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def run(argv: Sequence[str]) -> int:
    """Run a command line (without the program's name); the exit status. Raises what went wrong."""
    if list(argv) == ["--version"]:
        from envcheck.cli.output import to_stdout
        from envcheck.cli.version import version_text

        to_stdout(version_text())
        return 0
    from envcheck.cli.plain import plain_check

    asked = plain_check(argv)
    if asked is not None:
        from envcheck.cli.checking import check

        return check(asked)
    from envcheck.cli.group import cli

    status = cli.main(args=list(argv), prog_name="envcheck", standalone_mode=False)
    return int(status or 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and never raise: every error ends as one sentence on standard error and its exit status."""
    words = [_readable(word) for word in (sys.argv[1:] if argv is None else argv)]
    collecting = gc.isenabled()
    gc.disable()  # a command that answers once and ends leaves no garbage worth looking for; a batch switches it on again
    try:
        return run(words)
    except KeyboardInterrupt:
        from envcheck.errors import ExitCode

        return int(ExitCode.INTERRUPTED)
    except SystemExit:  # how click says that the reader of its help went away
        return 0
    except Exception as error:  # the last line of defence
        from envcheck.cli.failure import report_failure

        return report_failure(error, words)
    finally:
        if collecting:
            gc.enable()


def entry() -> NoReturn:
    """The command: `main`, then out at once, since taking an interpreter down in order costs a tenth of a whole check."""
    status = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # whoever read it is gone
    os._exit(status)


def _readable(word: str) -> str:
    """An argument as valid text: bytes that are no UTF-8 would break every later output."""
    return word if word.isascii() else word.encode("utf-8", "replace").decode("utf-8", "replace")
