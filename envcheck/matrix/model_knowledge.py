"""Records of models: which releases know an architecture, and what the recipes that come with vLLM say of a model."""

from __future__ import annotations

from functools import cached_property

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.matrix.release import specifier


class KnowledgeFile(Record, frozen=True, kw_only=True):
    """`matrices/model_knowledge.json`: `architectures` = name in `architectures` of a config.json → the releases whose registry has it.

    `parsers` = names of tool-call and reasoning parsers that came later than the recipes that name them say, with their releases.
    """

    architectures: dict[str, str]
    parsers: dict[str, str] = {}


class RecipeVariant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, gc=False):
    """Another checkpoint of the same model; `precision` as the recipe names it."""

    id: str
    precision: str


class Recipe(Record, frozen=True, kw_only=True):
    """What vLLM's own recipe says of a model.

    `first` = the release that it asks for, None = none is named; `nightly` = it asks for a build after the last release then.
    `arguments` = those that the model itself needs, `tools`, `reasoning`, `speculation` those that switch a feature on, as typed.
    `remote_code` = it runs Python from the model's repository.
    """

    id: str
    first: str | None = None
    nightly: bool = False
    remote_code: bool = False
    arguments: list[str] = []
    tools: list[str] = []
    reasoning: list[str] = []
    speculation: list[str] = []
    variants: list[RecipeVariant] = []


class Knowledge:
    """Look-ups of models; None for what the matrix does not know."""

    def __init__(self, file: KnowledgeFile, recipes: list[Recipe]) -> None:
        self.file = file
        self.recipes = tuple(recipes)

    @cached_property
    def _by_id(self) -> dict[str, Recipe]:
        found = {variant.id.lower(): recipe for recipe in self.recipes for variant in recipe.variants}
        return found | {recipe.id.lower(): recipe for recipe in self.recipes}

    def recipe(self, model: str) -> Recipe | None:
        """The recipe of a model or of one of its checkpoints, by its name on the hub."""
        return self._by_id.get(model.lower())

    def releases_of(self, architecture: str) -> str | None:
        """The releases that know an architecture, as a specifier."""
        return self.file.architectures.get(architecture)

    def knows(self, architecture: str, version: Version) -> bool:
        """Whether a release knows an architecture; False also for one that none does."""
        found = self.releases_of(architecture)
        return found is not None and specifier(found).contains(version, prereleases=True)

    def parser_in(self, name: str, version: Version) -> bool:
        """Whether a release has a parser that a recipe names, as far as its own first release does not say."""
        found = self.file.parsers.get(name)
        return found is None or specifier(found).contains(version, prereleases=True)
