"""Records of claims that circulate and that vLLM's releases contradict; the sentences stand in the catalogue of claims."""

from __future__ import annotations

from envcheck.matrix.records import Record


class Claim(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One claim by id.

    `words` = the arguments, variables and things it is about. `facts` = releases and figures that its sentences name, by the name of
    their place there. `codes` = the findings met by who believes it. `releases` = those for which it is named unasked; "" = all.
    """

    id: str
    words: list[str]
    facts: dict[str, str | int | float]
    codes: list[str] = []
    releases: str = ""

    def about(self, name: str) -> bool:
        """Whether it speaks of an argument, a variable or a thing of this name; the case does not matter."""
        return any(word.lower() == name.lower() for word in self.words)
