"""Whether an image that is not here yet would run on this host: what a plan asks before it names one. Pure."""

from __future__ import annotations

import msgspec

from envcheck.matrix.image_tags import ImageTag
from envcheck.matrix.images import Image
from envcheck.matrix.load import Matrix
from envcheck.model.versions import driver_version
from envcheck.rules.build import Judged
from envcheck.rules.container import kernel_level, lets_pass, unserved
from envcheck.rules.image_build import judge_image, lacks_torch_code
from envcheck.rules.image_libcuda import documented, own_libcuda, shipped
from envcheck.rules.situation import Situation


class Fit(msgspec.Struct, frozen=True):
    """An image that runs here; `judged` is its wheel, `switch` the variable that puts its own libcuda first ("" = the driver's serves)."""

    tag: ImageTag
    image: Image
    judged: Judged
    switch: str = ""


def fits(situation: Situation, matrix: Matrix, tag: ImageTag) -> tuple[Fit, ...]:
    """The ways an image runs here: with the driver's libcuda, and by its own where that is documented and leaves less to wish for."""
    image = matrix.images.read(tag.reference)
    if image is None or (not situation.wsl and not lets_pass(situation, matrix, image)) or _forced(situation, matrix, image):
        return ()
    judged = _judged(_unasked(situation, matrix, image), matrix, image)
    found = [Fit(tag, image, judged)] if judged is not None and not judged.errors else []
    switch = _switch(situation, matrix, image) if judged is None or judged.clashes else ""
    if switch:
        own = driver_version(str(shipped(matrix, image)))
        helped = _judged(msgspec.structs.replace(situation, cuda_driver=own, driver_cuda=image.cuda), matrix, image)
        if helped is not None and not helped.errors and (judged is None or len(helped.clashes) < len(judged.clashes)):
            found.append(Fit(tag, image, helped, switch))
    return tuple(found)


def _unasked(situation: Situation, matrix: Matrix, image: Image) -> Situation:
    """The host as the image finds it when nothing is set: with the driver's libcuda, or its own where it takes that by itself."""
    driver = situation.driver
    own = own_libcuda(matrix, image, driver) if driver is not None and _served(situation) else None
    if own is not None:
        return msgspec.structs.replace(situation, cuda_driver=own, driver_cuda=image.cuda)
    return msgspec.structs.replace(situation, cuda_driver=driver, driver_cuda=kernel_level(situation, matrix))


def _served(situation: Situation) -> bool:
    """Whether every GPU is known to take forward compatibility, on a system that has any."""
    known = bool(situation.usable_gpus) and all(gpu.model is not None for gpu in situation.usable_gpus)
    return known and not unserved(situation) and not situation.wsl


def _judged(situation: Situation, matrix: Matrix, image: Image) -> Judged | None:
    """The image's wheel; None where it is not known, or the image's torch lacks code for a GPU."""
    judged = judge_image(situation, matrix, image)
    if judged is None or judged.undecided or lacks_torch_code(situation, matrix, image, judged.release.torch_pin or ""):
        return None
    return judged


def _forced(situation: Situation, matrix: Matrix, image: Image) -> bool:
    """Whether an image takes its own libcuda unasked where that fails: over a newer driver, under WSL, on a card that takes none."""
    images, driver, branch = image.range, situation.driver, shipped(matrix, image)
    if images is None or not (images.compat_on_loader_path or images.compat_by_runtime):
        return False
    older = kernel_level(situation, matrix)
    if unserved(situation) and image.cuda and (older is None or older < image.cuda):
        return True
    return images.compat_on_loader_path and (situation.wsl or (driver is not None and branch is not None and driver.branch > branch))


def _switch(situation: Situation, matrix: Matrix, image: Image) -> str:
    """The variable to set, where the image knows one, every GPU takes forward compatibility, and the driver's branch is documented."""
    driver, branch = situation.driver, shipped(matrix, image)
    if image.range is None or driver is None or branch is None or driver.branch >= branch:
        return ""
    return (image.range.compat_switch or "") if _served(situation) and documented(image, driver.branch) else ""
