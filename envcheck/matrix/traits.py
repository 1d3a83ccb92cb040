"""Records of behaviour: what a range of releases does that its wheels do not show, and what its container images demand of a driver."""

from __future__ import annotations

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envcheck.matrix.records import Record


class Trait(Record, frozen=True, kw_only=True):
    """One behaviour. `releases` = the vLLM releases that show it (missing: not bound to a release), `value` its figure."""

    id: str
    releases: str | None = None
    value: str | None = None


class ImageRange(Record, frozen=True, kw_only=True):
    """The project's own images of a range of releases: CUDA release of the base image.

    `compat_on_loader_path` = the image puts its forward-compatibility libcuda before the host's by itself.
    """

    releases: str
    cuda: str
    compat_on_loader_path: bool = False


class ImageGate(Record, frozen=True, kw_only=True):
    """What the base image's NVIDIA_REQUIRE_CUDA lets pass besides drivers of its own CUDA release: older branches, by number.

    `also_branches` missing = not known. `geforce_brands` = whether GeForce cards may pass by an older branch.
    """

    cuda: str
    also_branches: list[int] | None = None
    geforce_brands: bool = False


class ImagesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/images.json`."""

    releases: list[ImageRange]
    gates: list[ImageGate]


class Traits:
    """Behaviours by id."""

    def __init__(self, traits: list[Trait]) -> None:
        self._by_id = {trait.id: trait for trait in traits}
        self._sets = {trait.id: SpecifierSet(trait.releases, prereleases=True) for trait in traits if trait.releases is not None}

    def get(self, id_: str) -> Trait | None:
        """A behaviour's record."""
        return self._by_id.get(id_)

    def shown_by(self, id_: str, version: Version) -> bool:
        """Whether a release shows the behaviour; pre-releases count as what they became."""
        wanted = self._sets.get(id_)
        return wanted is not None and wanted.contains(version, prereleases=True)


class Images:
    """The project's images by release."""

    def __init__(self, file: ImagesFile) -> None:
        self._ranges = [(SpecifierSet(entry.releases, prereleases=True), entry) for entry in file.releases]
        self._gates = {entry.cuda: entry for entry in file.gates}

    def of(self, version: Version) -> ImageRange | None:
        """The image range a release lies in."""
        return next((entry for wanted, entry in self._ranges if wanted.contains(version, prereleases=True)), None)

    def gate(self, cuda: str) -> ImageGate | None:
        """The start gate of a base image."""
        return self._gates.get(cuda)
