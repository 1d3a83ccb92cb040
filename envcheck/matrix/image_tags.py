"""The tags of the project's own images that exist, by release, machine and CUDA release: what a plan may name, and nothing else."""

from __future__ import annotations

from functools import cached_property

import msgspec
from packaging.version import Version

from envcheck.matrix.records import Arch, Basis, Record
from envcheck.model.version_range import VersionRange, version_range
from envcheck.model.versions import ComputeCapability, compute_capability, numbers


class ImageTags(Record, frozen=True, kw_only=True):
    """The images of one CUDA release of a range of releases: `v{release}`, with `-{label}` and `-{flavour}` where they have them.

    `arch_tags` = each machine has a tag of its own besides (`v{release}-{arch}…`). `gpu_code` by machine is the machine code that they were
    compiled for; it names the machines there are images for. `cuda` is that of the base image, `glibc` and `python` what is in it, and
    missing where that is not known.
    """

    releases: str
    cuda: str
    gpu_code: dict[Arch, list[str]]
    basis: Basis
    label: str = ""
    flavour: str = ""
    arch_tags: bool = False
    os_version: str | None = None
    glibc: str | None = None
    python: str | None = None


class OtherDevice(Record, frozen=True, kw_only=True):
    """Images made for other devices than NVIDIA's GPUs: ends of the repository's name, or a word of the project's own tag."""

    device: str
    repositories: list[str]
    tag_word: str | None = None


class ImageTag(msgspec.Struct, frozen=True):
    """One image that exists, for one machine. `reference` is its name on the registry; None = not known."""

    reference: str
    release: str
    arch: Arch
    label: str
    flavour: str
    cuda: tuple[int, ...]
    gpu_code: tuple[ComputeCapability, ...]
    os_version: str | None
    glibc: str | None
    python: str | None
    basis: Basis


class ImageTagTable:
    """Look-ups over the records; every answer names tags that exist."""

    def __init__(self, repository: str, records: list[ImageTags]) -> None:
        self._repository = repository
        self._records = records
        self._found: dict[tuple[str, str], tuple[ImageTag, ...]] = {}

    @cached_property
    def _ranges(self) -> list[tuple[VersionRange, ImageTags]]:
        return [(version_range(record.releases), record) for record in self._records]

    def of(self, release: Version) -> tuple[ImageTags, ...]:
        """The records of a release, in the order of the file: the plain one first. Empty where nothing is known of its images."""
        return tuple(record for wanted, record in self._ranges if wanted.contains(release))

    def tags(self, release: str, arch: str) -> tuple[ImageTag, ...]:
        """The images of a release for a machine, the plain tag first. Empty where there are none, or none is known."""
        key = (release, arch)
        if key not in self._found:
            if len(self._found) > 1024:
                self._found.clear()
            machine: Arch | None = "x86_64" if arch == "x86_64" else "aarch64" if arch == "aarch64" else None
            served = [record for record in self.of(Version(release)) if machine in record.gpu_code]
            self._found[key] = tuple(self._tag(release, record, machine) for record in served) if machine else ()
        return self._found[key]

    def names(self, release: Version) -> frozenset[str]:
        """Every tag of a release, those of one machine too."""
        found: set[str] = set()
        for record in self.of(release):
            tail = _tail(record)
            found.add(f"v{release}{tail}")
            found |= {f"v{release}-{arch}{tail}" for arch in record.gpu_code if record.arch_tags}
        return frozenset(found)

    def _tag(self, release: str, record: ImageTags, arch: Arch) -> ImageTag:
        code = (compute_capability(text) for text in record.gpu_code[arch])
        return ImageTag(
            reference=f"{self._repository}:v{release}{_tail(record)}",
            release=release,
            arch=arch,
            label=record.label,
            flavour=record.flavour,
            cuda=numbers(record.cuda) or (),
            gpu_code=tuple(filter(None, code)),
            os_version=record.os_version,
            glibc=record.glibc,
            python=record.python,
            basis=record.basis,
        )


def _tail(record: ImageTags) -> str:
    return "".join(f"-{word}" for word in (record.label, record.flavour) if word)
