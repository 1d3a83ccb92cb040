"""Rules on what an image's name says before anything is pulled: another maker's device, another machine, a tag that does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.rules.make import error, remedy
from envcheck.rules.situation import Situation, in_container, text

if TYPE_CHECKING:
    from envcheck.matrix.images import Image

_SHOWN = 8  # tags that a reader still compares


def image_tag(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The faults of an image's name, the first that applies."""
    image = matrix.images.read(situation.image) if situation.image else None
    if image is None:
        return
    if image.device:
        yield from _foreign(situation, image)
    elif text(situation.host.driver, "nvml") != "ok":  # where NVML answers the container runs, whatever its name is
        yield from _unpublished(situation, matrix, image) if matrix.images.no_such_tag(image) else _machine(situation, matrix, image)


def _foreign(situation: Situation, image: Image) -> Iterator[Finding]:
    """Made for another device, where the host has a GPU of NVIDIA's and nothing else."""
    if situation.gpus and not situation.other_makers:
        again = remedy("container", "cuda-image")
        yield error("vllm-extension-not-loaded", "image", image=situation.image[:120], device=image.device, remedies=(again,))


def _unpublished(situation: Situation, matrix: Matrix, image: Image) -> Iterator[Finding]:
    """A tag that the release does not have; which it has stands beside it."""
    table, release = matrix.images.table, str(image.release)
    tags = table.tags(release, situation.arch or image.arch or "x86_64")
    exist = ", ".join(tag.reference.rpartition(":")[2] for tag in tags[:_SHOWN]) or "-"
    params = {"image": situation.image[:120], "tag": image.tag, "vllm": release, "exist": exist}
    yield error("wheel-url-missing", "image", remedies=tuple(_instead(situation, matrix, image)), **params)


def _instead(situation: Situation, matrix: Matrix, image: Image) -> Iterator[Remedy]:
    """The newest older release that has the label asked for, and the release's own plain tag."""
    table, arch = matrix.images.table, situation.arch or image.arch or "x86_64"
    older = (release for release in matrix.releases if image.release and release.version <= image.release)
    labelled = (tag for release in older for tag in table.tags(release.raw, arch) if image.label and tag.label == image.label)
    for tag in (next(labelled, None), next(iter(table.tags(str(image.release), arch)), None)):
        if tag is not None:
            yield _use(situation, tag.reference, tag.release)


def _machine(situation: Situation, matrix: Matrix, image: Image) -> Iterator[Finding]:
    """An image for another machine than this: by its tag, or because its release has none for it."""
    arch, release = situation.arch, image.release
    if not image.own or arch is None or release is None:
        return
    if image.arch and image.arch != arch:
        params = {"image": situation.image[:120], "made": image.arch, "arch": arch}
        yield error("no-wheel-for-platform", "image-machine", remedies=tuple(_for_machine(situation, matrix, image)), **params)
    elif image.tag and matrix.images.table.of(release) and not matrix.images.table.tags(str(release), arch):
        made = ", ".join(sorted({name for record in matrix.images.table.of(release) for name in record.gpu_code}))
        params = {"image": situation.image[:120], "made": made, "arch": arch, "vllm": str(release)}
        yield error("no-wheel-for-platform", "image-none", remedies=tuple(_for_machine(situation, matrix, image)), **params)


def _for_machine(situation: Situation, matrix: Matrix, image: Image) -> Iterator[Remedy]:
    """The same release's image for this machine, else that of the next release which has one."""
    table, arch = matrix.images.table, situation.arch or ""
    for release in reversed(matrix.releases):
        tags = table.tags(release.raw, arch) if image.release and release.version >= image.release else ()
        if tags:
            same = next((tag for tag in tags if (tag.label, tag.flavour) == (image.label, image.flavour)), tags[0])
            yield _use(situation, same.reference, same.release)
            return


def _use(situation: Situation, reference: str, release: str) -> Remedy:
    """Inside a container there is no engine to pull with: whoever starts it names the image."""
    pull = () if in_container(situation) else (f"docker pull {reference}",)
    return remedy("container", "use-tag", *pull, image=reference, vllm=release)
