"""Whether a container image's own libcuda stands in for an older driver's: which images use theirs, and where that works. Pure.

Sources stand in the records of `images.json`: the project's documentation on older drivers, and the faults 803 and 804.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from envcheck.model.versions import DriverVersion, driver_version

if TYPE_CHECKING:
    from envcheck.matrix.images import Image
    from envcheck.matrix.load import Matrix

_ON = ("1", "true")


def switch_on(matrix: Matrix, *environments: object) -> str | None:
    """The name of a variable that puts an image's own libcuda first and is on; the first environment that names one decides."""
    for environment in environments:
        if isinstance(environment, Mapping) and (found := matrix.images.switches & environment.keys()):
            name: str = min(found)
            return name if str(environment[name]).strip().lower() in _ON else None
    return None


def uses_its_own(matrix: Matrix, image: Image, *environments: object) -> bool:
    """Whether an image loads its own libcuda on an older driver: by itself, by its loader's folders, or by a variable that it knows."""
    if image.compat_automatic or (image.range is not None and image.range.compat_on_loader_path):
        return True
    switch = switch_on(matrix, *environments)
    return switch is not None and (image.range is None or image.range.compat_switch == switch)


def shipped(matrix: Matrix, image: Image) -> int | None:
    """The driver branch of the libcuda in an image, by its CUDA release."""
    return matrix.toolkit_branch(".".join(map(str, image.cuda))) if image.cuda else None


def own_libcuda(matrix: Matrix, image: Image, driver: DriverVersion, *environments: object) -> DriverVersion | None:
    """The libcuda of an image that takes the place of an older driver's, on GPUs that forward compatibility serves; else None."""
    branch = shipped(matrix, image)
    if branch is None or branch <= driver.branch or not uses_its_own(matrix, image, *environments):
        return None
    return driver_version(str(branch))


def documented(image: Image, branch: int) -> bool | None:
    """Whether an image's own libcuda is documented to serve a driver branch; None where nothing is known of its CUDA release."""
    gate = image.gate
    listed = (gate.compat_branches or gate.also_branches) if gate else None
    return None if listed is None else branch in listed
