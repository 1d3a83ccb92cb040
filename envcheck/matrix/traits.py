"""Records of behaviour: what a range of releases does that its wheels do not show."""

from packaging.version import Version

from envcheck.matrix.records import Record
from envcheck.model.version_range import version_range


class Trait(Record, frozen=True, kw_only=True):
    """One behaviour. `releases` = the vLLM releases that show it (missing: not bound to a release), `value` its figure."""

    id: str
    releases: str | None = None
    value: str | None = None


class Traits:
    """Behaviours by id."""

    def __init__(self, traits: list[Trait]) -> None:
        self._by_id = {trait.id: trait for trait in traits}
        self._sets = {trait.id: version_range(trait.releases) for trait in traits if trait.releases is not None}

    def get(self, id_: str) -> Trait | None:
        """A behaviour's record."""
        return self._by_id.get(id_)

    def shown_by(self, id_: str, version: Version) -> bool:
        """Whether a release shows the behaviour; pre-releases count as what they became."""
        wanted = self._sets.get(id_)
        return wanted is not None and wanted.contains(version)
