"""Container images by name: which family, release and CUDA an image text means, and what its start gate demands of a driver."""

import re
from functools import cached_property

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from envcheck.matrix.records import Record
from envcheck.model.versions import ComputeCapability, compute_capability, numbers

_LONGEST = 300
_REMEMBERED = 4096  # texts; hostile input must not fill memory
# Patterns are compiled when first used: most hosts name no image.
_REFERENCE = r"(?P<repository>(?:[\w.-]+(?::\d{1,5})?/)*[\w.-]+):(?P<tag>[\w.-]{1,128})"
_RELEASE = r"v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\w.]*\d)"
_LABEL = r"(?:^|-)cu(\d{2})(\d)\b"
_CUDA = r"(?:^|-|\b)cuda[ :-]?(\d{1,2}\.\d{1,2})"


class ImageRange(Record, frozen=True, kw_only=True):
    """The project's own images of a range of releases: CUDA release of the base image.

    `compat_on_loader_path` = the image puts its forward-compatibility libcuda before the host's by itself; `compat_by_runtime` = the
    container runtime has been seen to do so on an older driver; `compat_switch` = a variable makes the image do it.
    """

    releases: str
    cuda: str
    compat_on_loader_path: bool = False
    compat_by_runtime: bool = False
    compat_switch: str | None = None


class ImageGate(Record, frozen=True, kw_only=True):
    """What the base image's NVIDIA_REQUIRE_CUDA lets pass besides drivers of its own CUDA release: older branches, by number.

    `also_branches` missing = not known. `geforce_brands` = whether GeForce cards may pass by an older branch.
    """

    cuda: str
    also_branches: list[int] | None = None
    geforce_brands: bool = False


class ImageFamily(Record, frozen=True, kw_only=True):
    """Images whose tag tells their CUDA release. `repositories` = ends of the name, whatever registry stands before.

    `cuda_in_tag` = how: `leading` (12.4.1-…), `named` (…-cuda12.4-…), `monthly` (24.03-…, by `months`). `gate` = the image has the start
    gate of its CUDA release; `compat_automatic` = its entry point takes its own libcuda where the driver is older.
    """

    id: str
    repositories: list[str]
    cuda_in_tag: str
    months: dict[str, str] = {}
    gate: bool = False
    gate_word: str | None = None
    compat_automatic: bool = False


class ImageCode(Record, frozen=True, kw_only=True):
    """Images of the project, by a word of their tag, that have machine code for other GPUs than the release's wheel."""

    releases: str
    tag_word: str
    arch: str
    gpu_code: list[str]


class ImagesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/images.json`."""

    releases: list[ImageRange]
    gates: list[ImageGate]
    families: list[ImageFamily] = []
    own_repositories: list[str] = []
    code: list[ImageCode] = []


class Image(msgspec.Struct, frozen=True):
    """What an image's name says. `own` = the project's; `release` None = the name does not tell; `label` = its CUDA label (`cu130`)."""

    text: str
    cuda: tuple[int, ...] | None
    own: bool = False
    release: Version | None = None
    label: str = ""
    range: ImageRange | None = None
    gate: ImageGate | None = None
    compat_automatic: bool = False


class Images:
    """Images by name and by release."""

    def __init__(self, file: ImagesFile) -> None:
        self._file = file
        self._ranges = [(SpecifierSet(entry.releases, prereleases=True), entry) for entry in file.releases]
        self._gates = {entry.cuda: entry for entry in file.gates}
        self._read: dict[str, Image | None] = {}

    def of(self, version: Version) -> ImageRange | None:
        """The image range a release lies in."""
        return next((entry for wanted, entry in self._ranges if wanted.contains(version, prereleases=True)), None)

    def gate(self, cuda: str) -> ImageGate | None:
        """The start gate of a base image."""
        return self._gates.get(cuda)

    def read(self, text: str) -> Image | None:
        """The image that a name, or a remark around one, means; None where it is of no family known."""
        text = text[:_LONGEST]
        if text not in self._read:
            if len(self._read) >= _REMEMBERED:
                self._read.clear()
            self._read[text] = self._parse(text)
        return self._read[text]

    def _parse(self, text: str) -> Image | None:
        found = re.search(_REFERENCE, text)
        repository = (found["repository"] if found else text.split(" ", 1)[0].split("@", 1)[0]).lower()
        tag = found["tag"] if found else ""
        if any(_ends(repository, name) for name in self._file.own_repositories):
            return self._own(text, tag)
        family = next((one for one in self._file.families if any(_ends(repository, name) for name in one.repositories)), None)
        cuda = _family_cuda(family, tag) if family else None
        if family is None or cuda is None:
            return None
        gated = family.gate and (family.gate_word is None or family.gate_word in tag)
        return Image(text, cuda, gate=self._gate_of(cuda) if gated else None, compat_automatic=family.compat_automatic)

    def _own(self, text: str, tag: str) -> Image:
        """An image of the project: its release from the tag, its CUDA from the label, a remark, or the release's own."""
        release = _version(re.match(_RELEASE, tag))
        entry = self.of(release) if release else None
        label = re.search(_LABEL, tag)
        remark = None if label else re.search(_CUDA, text, re.IGNORECASE)
        stated = f"{label[1]}.{label[2]}" if label else remark[1] if remark else entry.cuda if entry else ""
        cuda = numbers(stated) if stated else None
        short = cuda[:2] if cuda else None
        name = f"cu{label[1]}{label[2]}" if label else ""
        return Image(text, short, True, release, name, entry, self._gate_of(short) if short else None)

    def _gate_of(self, cuda: tuple[int, ...]) -> ImageGate | None:
        return self._gates.get(".".join(map(str, cuda[:2])))

    @cached_property
    def _code(self) -> list[tuple[SpecifierSet, ImageCode, tuple[ComputeCapability, ...]]]:
        parsed = ((entry, map(compute_capability, entry.gpu_code)) for entry in self._file.code)
        return [(SpecifierSet(entry.releases, prereleases=True), entry, tuple(filter(None, code))) for entry, code in parsed]

    def compiled_for(self, image: Image, arch: str | None) -> tuple[ComputeCapability, ...] | None:
        """The capabilities that an image has code for where they differ from the wheel's; None where they do not."""
        for wanted, entry, code in self._code if image.own and image.release else ():
            if entry.tag_word in image.text and arch in (None, entry.arch) and image.release and image.release in wanted:
                return code
        return None

    @cached_property
    def switches(self) -> frozenset[str]:
        """Variables that put an image's own libcuda first."""
        return frozenset(entry.compat_switch for entry in self._file.releases if entry.compat_switch)


def _ends(repository: str, name: str) -> bool:
    """Whether a repository is this one, behind any registry and any mirror's folders."""
    return repository == name or repository.endswith(f"/{name}")


def _version(found: re.Match[str] | None) -> Version | None:
    try:
        return Version(found[1]) if found else None
    except InvalidVersion:
        return None


def _family_cuda(family: ImageFamily, tag: str) -> tuple[int, ...] | None:
    if family.cuda_in_tag == "monthly":
        month = re.match(r"\d{2}\.\d{2}", tag)
        stated = family.months.get(month[0], "") if month else ""
    else:
        found = re.match(r"(\d{1,2}\.\d{1,2})\b", tag) if family.cuda_in_tag == "leading" else re.search(_CUDA, tag)
        stated = found[1] if found else ""
    cuda = numbers(stated) if stated else None
    return cuda[:2] if cuda else None
