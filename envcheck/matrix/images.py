"""Container images by name: which family, release and CUDA an image text means, and what its start gate demands of a driver."""

import re
from functools import cached_property

import msgspec
from packaging.version import InvalidVersion, Version

from envcheck.matrix.image_tags import ImageTag, ImageTags, ImageTagTable, OtherDevice
from envcheck.matrix.records import Record
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability, numbers

_LONGEST = 300
_REMEMBERED = 4096  # texts; hostile input must not fill memory
# Patterns are compiled when first used: most hosts name no image.
_REFERENCE = r"(?P<repository>(?:[\w.-]+(?::\d{1,5})?/)*[\w.-]+):(?P<tag>[\w.-]{1,128})"
_RELEASE = r"v?(\d+\.\d+\.\d+(?:\.\d+)?(?:\.post\d+|rc\d+)?)(?![\w.]*\d)"
_LABEL = r"(?:^|-)cu(\d{2})(\d)\b"
_MACHINE = r"-(x86_64|aarch64)(?=-|$)"
_FLAVOUR = r"-(ubuntu\d{4})(?=-|$)"
# A tag in which nothing is not understood.
_PLAIN = r"v\d+\.\d+\.\d+(?:\.\d+)?(?:\.post\d+)?(?:-x86_64|-aarch64)?(?:-cu\d{3})?(?:-ubuntu\d{4})?"
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

    `also_branches` missing = not known. `geforce_brands` = whether GeForce cards may pass by an older branch. `compat_branches` = the older
    branches that the images' own libcuda of this CUDA release is documented to serve, where that is fewer than may pass.
    """

    cuda: str
    also_branches: list[int] | None = None
    compat_branches: list[int] | None = None
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


class ImagesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`matrices/images.json`."""

    releases: list[ImageRange]
    gates: list[ImageGate]
    families: list[ImageFamily] = []
    own_repositories: list[str] = []
    repository: str = ""
    other_devices: list[OtherDevice] = []
    tags: list[ImageTags] = []


class Image(msgspec.Struct, frozen=True):
    """What an image's name says. `own` = the project's; `release` None = the name does not tell; `label` = its CUDA label (`cu130`).

    `device` = what it was made for instead of NVIDIA's GPUs. `arch` and `flavour` as the tag names them. `tag` = the whole tag, where the
    repository is the one that the project publishes to and all of it is understood.
    """

    text: str
    cuda: tuple[int, ...] | None
    own: bool = False
    release: Version | None = None
    label: str = ""
    range: ImageRange | None = None
    gate: ImageGate | None = None
    compat_automatic: bool = False
    device: str = ""
    arch: str = ""
    flavour: str = ""
    tag: str = ""


class Images:
    """Images by name and by release."""

    def __init__(self, file: ImagesFile) -> None:
        self._file = file
        self._ranges = [(version_range(entry.releases), entry) for entry in file.releases]
        self._gates = {entry.cuda: entry for entry in file.gates}
        self._read: dict[str, Image | None] = {}
        self.table = ImageTagTable(file.repository, file.tags)

    def of(self, version: Version) -> ImageRange | None:
        """The image range a release lies in."""
        return next((entry for wanted, entry in self._ranges if wanted.contains(version)), None)

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
        if device := self._device(repository, tag):
            return Image(text, None, device=device)
        if any(_ends(repository, name) for name in self._file.own_repositories):
            return self._own(text, tag, published=_ends(repository, self._file.repository))
        family = next((one for one in self._file.families if any(_ends(repository, name) for name in one.repositories)), None)
        cuda = _family_cuda(family, tag) if family else None
        if family is None or cuda is None:
            return None
        gated = family.gate and (family.gate_word is None or family.gate_word in tag)
        return Image(text, cuda, gate=self._gate_of(cuda) if gated else None, compat_automatic=family.compat_automatic)

    def _device(self, repository: str, tag: str) -> str:
        """The device that an image is made for where it is no GPU of NVIDIA's, else ""."""
        own = any(_ends(repository, name) for name in self._file.own_repositories)
        for entry in self._file.other_devices:
            named = own and entry.tag_word is not None and entry.tag_word in tag.split("-")
            if named or any(_ends(repository, name) for name in entry.repositories):
                return entry.device
        return ""

    def _own(self, text: str, tag: str, *, published: bool) -> Image:
        """An image of the project: its release from the tag, its CUDA from the label, a remark, or the release's own."""
        release = _version(re.match(_RELEASE, tag))
        entry = self.of(release) if release else None
        label = re.search(_LABEL, tag)
        remark = None if label else re.search(_CUDA, text, re.IGNORECASE)
        stated = f"{label[1]}.{label[2]}" if label else remark[1] if remark else entry.cuda if entry else ""
        cuda = numbers(stated) if stated else None
        short = cuda[:2] if cuda else None
        name = f"cu{label[1]}{label[2]}" if label else ""
        machine, flavour = re.search(_MACHINE, tag), re.search(_FLAVOUR, tag)
        return Image(
            text,
            short,
            True,
            release,
            name,
            entry,
            self._gate_of(short) if short else None,
            arch=machine[1] if machine else "",
            flavour=flavour[1] if flavour else "",
            tag=tag if published and re.fullmatch(_PLAIN, tag) else "",
        )

    def _gate_of(self, cuda: tuple[int, ...]) -> ImageGate | None:
        return self._gates.get(".".join(map(str, cuda[:2])))

    def tag_of(self, image: Image, arch: str | None) -> ImageTag | None:
        """The record of an image of the project, for the machine that its tag names, else for this one; None where none is known."""
        if not image.own or image.release is None:
            return None
        tags = self.table.tags(str(image.release), image.arch or arch or "x86_64")
        return next((tag for tag in tags if (tag.label, tag.flavour) == (self._label(image, tags), image.flavour)), None)

    def _label(self, image: Image, tags: tuple[ImageTag, ...]) -> str:
        """The label of an image; one that names the CUDA of the plain tag is the plain tag's image under another name."""
        named = {tag.label for tag in tags}
        return image.label if image.label in named else ""

    def compiled_for(self, image: Image, arch: str | None) -> tuple[ComputeCapability, ...] | None:
        """The capabilities that an image has code for where they differ from the plain image's; None where they do not."""
        own = self.tag_of(image, arch) if image.flavour else None
        plain = self.tag_of(msgspec.structs.replace(image, flavour=""), arch) if own else None
        return own.gpu_code if own and plain and own.gpu_code != plain.gpu_code else None

    def no_such_tag(self, image: Image) -> bool:
        """Whether an image is named by a tag that was never published, of a release whose tags are known."""
        if not image.tag or image.release is None:
            return False
        known = [record for record in self.table.of(image.release) if record.basis != "unverified"]
        return bool(known) and image.tag not in self.table.names(image.release)

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
