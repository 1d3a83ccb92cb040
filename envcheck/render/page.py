"""A page of text under construction: headings, sentences of the catalogue, commands."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.model.plan import Step
from envcheck.model.text import Param
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.commands import broken, laid, words
from envcheck.render.layout import wrap
from envcheck.render.paint import Paint, Role, plain


class Page:
    """Lines of at most 80 cells, but for commands, which stay whole words. Colour is laid over finished lines."""

    def __init__(self, catalogue: Catalogue, paint: Paint = plain) -> None:
        self.catalogue = catalogue
        self.paint = paint
        self._lines: list[str] = []

    def blank(self) -> None:
        """An empty line, never two together nor one at the head."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def write(self, text: str, indent: str = "", first: str | None = None, role: Role | None = None) -> None:
        """A wrapped paragraph of finished text."""
        for line in wrap(text, indent=indent, first=first):
            self.raw(self.paint(line, role) if role else line)

    def raw(self, line: str) -> None:
        """A line already laid out."""
        self._lines.append(line)

    def say(self, key: str, /, indent: str = "", role: Role | None = None, **params: Param) -> None:
        """A wrapped sentence of the catalogue."""
        self.write(self.catalogue.say(key, **params), indent=indent, role=role)

    def heading(self, key: str, /, **params: Param) -> None:
        """A blank line and a heading."""
        self.blank()
        self.write(self.catalogue.say(key, **params), role="heading")

    def command(self, argv: Sequence[str], indent: str = "  ") -> None:
        """A command on lines of its own, continued with backslashes where it is long."""
        for line in broken(argv, indent=indent):
            self.raw(self.paint(line, "command"))

    def shell(self, line: str, indent: str = "  ") -> None:
        """A finished shell line, its words kept as they are but for characters a terminal would act on; continued where it is long."""
        for part in laid(words(clean(line)), indent=indent):
            self.raw(self.paint(part, "command"))

    def steps(self, steps: Sequence[Step], with_reasons: bool = False) -> None:
        """Commands in order, each with its reason as a shell comment where wanted."""
        for step in steps:
            if with_reasons:
                self.write(self.catalogue.text(step.why), indent="  # ", role="faint")
            self.command(step.argv)

    def finish(self) -> str:
        """The page, ending in one line break."""
        return "\n".join(self._lines).rstrip("\n") + "\n"
