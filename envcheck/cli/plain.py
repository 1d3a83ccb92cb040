"""Command lines so plain that no parser is needed: a parser is a sixth of a whole check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envcheck.cli.asked import Common

# The switches that people type after a bare `envcheck`.
_SWITCHES = {"--json": "json", "-v": "verbose", "--verbose": "verbose", "-q": "quiet", "--quiet": "quiet", "--offline": "offline"}


def plain_check(argv: Sequence[str]) -> Common | None:
    """What `envcheck [check]` with nothing but such switches asks for; None for any other command line, which is to be parsed."""
    words = argv[1:] if argv[:1] == ["check"] else argv
    if any(word not in _SWITCHES for word in words):
        return None
    from envcheck.system.spared import load_msgspec

    load_msgspec()
    from envcheck.cli.asked import Common, language

    given = {_SWITCHES[word] for word in words}
    as_json = "json" in given
    return Common(
        output="json" if as_json else "text",
        lang=language(None, as_json=as_json),
        offline="offline" in given,
        verbose="verbose" in given,
        quiet="quiet" in given,
    )
