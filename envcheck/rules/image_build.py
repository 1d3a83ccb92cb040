"""Rules on what is inside a container image: the wheel and the torch of its release against driver and GPU, or its CUDA alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Build, Release
from envcheck.model.finding import Finding, Severity
from envcheck.rules.build import Judged, Target, at_least, dotted, judge_build, runs_code
from envcheck.rules.make import error, from_clash, remedy
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.matrix.images import Image

_OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}


def build_of(matrix: Matrix, image: Image, arch: str | None) -> tuple[Release, Build] | None:
    """The wheel in an image of the project: compiled for what the image's record says, else the release's own of the same CUDA major."""
    release = matrix.release(str(image.release)) if image.release else None
    if release is None:
        return None
    machine = image.arch or arch or "x86_64"
    tag = matrix.images.tag_of(msgspec.structs.replace(image, flavour=""), machine)
    label = tag.label if tag else image.label
    # Images of a machine and a CUDA release may exist without such a wheel; what is compiled at the start is the same for every machine.
    found = (release.build(machine, label), release.build(_OTHER.get(machine, ""), label), release.build(machine, ""))
    cuda = tag.cuda if tag else image.cuda
    build = next((one for one in found if one and one.cuda and (not cuda or one.cuda[0] == cuda[0])), None)
    if build is None or tag is None:
        return (release, build) if build else None
    return release, msgspec.structs.replace(build, arch=machine, cuda=tag.cuda, cuda_major=tag.cuda[0], gpu_code=tag.gpu_code)


def judge_image(situation: Situation, matrix: Matrix, image: Image) -> Judged | None:
    """The wheel in an image against driver and GPU; the image brings its own libc and interpreter. None where it is not known."""
    found = build_of(matrix, image, situation.arch)
    if found is None:
        return None
    target = Target(situation.arch, None, False, None, situation.cuda_driver, situation.driver_cuda, situation.capabilities)
    return judge_build(target, matrix, *found, installed=True)


def image_build(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """What the image's own wheel, or its CUDA alone, asks of driver and GPU, where the host document lists no vLLM of its own."""
    known_otherwise = situation.installed_raw and not situation.from_image
    if not situation.image or known_otherwise or situation.wsl or _asked_otherwise(situation, matrix):
        return
    image = matrix.images.read(situation.image)
    if image is None or image.device or matrix.images.no_such_tag(image):
        return
    judged = judge_image(situation, matrix, image)
    if judged is None:
        yield from _cuda_major(situation, matrix, image)
        return
    for clash in judged.clashes:
        way = remedy("container", "newer-image" if clash.code == "gpu-arch-not-in-vllm-build" else "older-image")
        yield from_clash(clash, Severity(clash.severity), (way,), image=situation.image[:120])
    yield from _image_torch(situation, matrix, image, judged.release.torch_pin or "")


def _asked_otherwise(situation: Situation, matrix: Matrix) -> bool:
    """Whether the question is about another release than the image's, which would be installed beside it."""
    asked, own = situation.request.vllm, situation.installed
    return bool(asked) and (own is None or own.release not in matrix.matching(asked or ""))


def _image_torch(situation: Situation, matrix: Matrix, image: Image, pin: str) -> Iterator[Finding]:
    """The image's torch, which is the pinned release built for the image's CUDA: that may lack code which the index's build has."""
    lacking = lacks_torch_code(situation, matrix, image, pin)
    if lacking:
        capability, listed = lacking
        name, cuda, older = situation.image[:120], dotted(image.cuda or ()), remedy("container", "older-image")
        params = {"image": name, "torch": pin, "cuda": cuda, "capability": capability, "listed": listed}
        yield error("gpu-arch-not-in-torch-build", "image", remedies=(older,), **params)


def lacks_torch_code(situation: Situation, matrix: Matrix, image: Image, pin: str) -> tuple[str, str] | None:
    """The first GPU that an image's torch has no code for, and what it has code for."""
    torch = matrix.torch(pin)
    arch = situation.arch or "x86_64"
    builds = [one for one in torch.builds if one.arch == arch and one.cuda == image.cuda and one.gpu_code is not None] if torch else []
    lacking = [one for one in situation.capabilities if builds and not runs_code(matrix, one, builds[0].gpu_code or (), builds[0].ptx)]
    return (str(lacking[0]), ", ".join(map(str, builds[0].gpu_code or ()))) if lacking else None


def _cuda_major(situation: Situation, matrix: Matrix, image: Image) -> Iterator[Finding]:
    floor = matrix.cuda_floor(image.cuda[0]) if image.cuda else None
    driver, shown = situation.cuda_driver, situation.driver_cuda
    if not floor or not image.cuda:
        return
    too_old = not at_least(driver, floor) if driver else shown is not None and shown[0] < image.cuda[0]
    if too_old:
        older = remedy("container", "older-image")
        name, cuda, have = situation.image[:120], dotted(image.cuda), driver.raw if driver else f"CUDA {dotted(shown or ())}"
        yield error("driver-too-old-for-cuda", "image", image=name, cuda=cuda, needed=floor.raw, driver=have, remedies=(older,))


def image_code(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Images that were compiled for other GPUs than the plain image of the same release."""
    if not situation.image:
        return
    image = matrix.images.read(situation.image)
    code = matrix.images.compiled_for(image, situation.arch) if image else None
    lacking = [one for one in situation.capabilities if code and not runs_code(matrix, one, code)]
    if code and lacking:
        listed, older = ", ".join(map(str, code)), remedy("container", "plain-tag")
        name = situation.image[:120]
        yield error("gpu-arch-not-in-vllm-build", "image", image=name, capability=str(lacking[0]), listed=listed, remedies=(older,))
