"""The entry point: `run` returns the exit status and lets errors through, `main` turns errors into one sentence and a status.

Imports stand in the functions: `--version` needs no click, `--help` nothing but click.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run(argv: Sequence[str]) -> int:
    """Run a command line (without the program's name); the exit status. Raises what went wrong."""
    if list(argv) == ["--version"]:
        from envcheck.cli.output import to_stdout
        from envcheck.cli.version import version_text

        to_stdout(version_text())
        return 0
    from envcheck.cli.group import cli

    status = cli.main(args=list(argv), prog_name="envcheck", standalone_mode=False)
    return int(status or 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run and never raise: every error ends as one sentence on standard error and its exit status."""
    words = [_readable(word) for word in (sys.argv[1:] if argv is None else argv)]
    try:
        return run(words)
    except KeyboardInterrupt:
        from envcheck.errors import ExitCode

        return int(ExitCode.INTERRUPTED)
    except Exception as error:  # the last line of defence
        from envcheck.cli.failure import report_failure

        return report_failure(error, words)


def _readable(word: str) -> str:
    """An argument as valid text: bytes that are no UTF-8 would break every later output."""
    return word if word.isascii() else word.encode("utf-8", "replace").decode("utf-8", "replace")
