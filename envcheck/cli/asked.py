"""What a command line asked for, as one value."""

from __future__ import annotations

import os

import msgspec

from envcheck.cli.output import painter, speaks
from envcheck.render.catalogue import Catalogue, Lang, choose_language
from envcheck.render.paint import Paint


class Common(msgspec.Struct, frozen=True):
    """What was asked about how to look and how to answer; `overrides` are host facts by dotted path.

    `network` = the host's own places may be asked over the network; never with `offline`.
    """

    host: str | None = None
    output: str = "text"  # "text", "json", or another form that the command offers
    lang: Lang = "en"
    offline: bool = False
    network: bool = False
    matrix_dir: str | None = None
    verbose: bool = False
    quiet: bool = False
    python: str | None = None
    overrides: dict[str, str] = {}
    schema: bool = False

    @property
    def catalogue(self) -> Catalogue:
        """The sentences in the language asked for."""
        return Catalogue(self.lang)

    @property
    def paint(self) -> Paint:
        """Colour, where standard output is a terminal that wants it."""
        return painter()


def language(option: str | None, *, as_json: bool) -> Lang:
    """The language to answer in: the option's, else the environment's where standard output can show it."""
    chosen = choose_language(option, os.environ)
    return chosen if option or as_json or speaks(chosen) else "en"
