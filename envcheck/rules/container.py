"""Rules on container images: what they demand of the driver before they start, and which libcuda they load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.model.text import Param
from envcheck.model.versions import driver_version, numbers
from envcheck.rules.build import dotted
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import Situation, part, text

if TYPE_CHECKING:
    from envcheck.matrix.images import Image, ImageRange

_GEFORCE = ("consumer", "laptop")
_VGPU = r"^(?:NVIDIA )?GRID |-\d{1,3}[QCAB]$"  # the profile of a virtual GPU: A100D-40C, L20-48Q


def start_gate(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The image's NVIDIA_REQUIRE_CUDA refuses this driver, so that the container does not start."""
    # Where NVML answers, the container runs: whatever gate there was let it pass.
    shown = kernel_level(situation, matrix)
    if shown is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    stated = _stated_gate(situation, shown)
    image = matrix.images.read(situation.image) if situation.image else None
    if image is not None and matrix.images.no_such_tag(image):
        return
    present, driver = dotted(shown), situation.driver.raw if situation.driver else None
    older = (remedy("container", "older-image"),)
    if stated is not None:
        variable, needed = stated
        yield error(
            "container-requires-newer-cuda", "stated", variable=variable, needed=needed, present=present, driver=driver, remedies=older
        )
    elif image and image.gate and image.cuda and not lets_pass(situation, matrix, image):
        variant, name, needed = "detail" if driver else "level", situation.image[:120], dotted(image.cuda)
        yield error("container-requires-newer-cuda", variant, image=name, needed=needed, present=present, driver=driver, remedies=older)


def kernel_level(situation: Situation, matrix: Matrix) -> tuple[int, ...] | None:
    """The CUDA release that the kernel's driver shows: the gate is asked before the image's own libcuda is loaded."""
    host, driver = situation.host, situation.driver
    if driver is None or driver is situation.cuda_driver:
        return situation.driver_cuda
    # With a forward-compatibility libcuda in use, what is stated is that library's.
    stated = None if part(host.libcuda, "compat") is True else numbers(text(host.driver, "cuda"))
    return stated[:2] if stated else matrix.driver_max_cuda(driver)


def _stated_gate(situation: Situation, shown: tuple[int, ...]) -> tuple[str, str] | None:
    """The variable and the alternative that refuse this host, by the image's own expression."""
    environment = part(situation.host.container, "environment")
    if not isinstance(environment, dict) or not situation.driver:
        return None
    # A virtual GPU goes by a brand of its licence, which no name tells.
    models = tuple(None if re.search(_VGPU, gpu.name) else gpu.model for gpu in situation.usable_gpus)
    from envcheck.rules.require_cuda import Offer, brands_of, refused  # noqa: PLC0415  # the same

    offer = Offer(shown, situation.driver.parsed, situation.capabilities, brands_of(models))
    return refused(environment, offer)


def lets_pass(situation: Situation, matrix: Matrix, image: Image) -> bool:
    """By the base image's own list of older branches; where that is not known, whoever is not refused for sure passes."""
    gate, shown, driver = image.gate, kernel_level(situation, matrix), situation.driver
    if gate is None or image.cuda is None or shown is None or shown >= image.cuda or gate.also_branches is None:
        return True
    # A driver known only by its CUDA release is of one of the branches that show it.
    branches = {driver.branch} if driver else {branch for branch, cuda in matrix.branches_by_cuda if cuda == shown[:2]}
    listed = not branches or not branches.isdisjoint(gate.also_branches)
    return listed and (gate.geforce_brands or not _geforce(situation))


def _geforce(situation: Situation) -> bool:
    return any(gpu.model is not None and gpu.model.kind in _GEFORCE for gpu in situation.usable_gpus)


def unserved(situation: Situation) -> bool:
    """Whether a GPU is known not to take forward compatibility."""
    return any(gpu.model is not None and not gpu.model.forward_compatibility for gpu in situation.usable_gpus)


def compat_shadowing(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A forward-compatibility libcuda that is older than the kernel's driver (803), or on a card it does not serve (804)."""
    host = situation.host
    compat = part(host.libcuda, "compat")
    loaded = driver_version(text(host.libcuda, "version"))
    if compat is True and loaded and situation.driver:
        yield from _loaded(situation, loaded.parsed)
    elif compat is None:
        yield from _by_image(situation, matrix) if situation.image else ()
        yield from _by_path(situation, matrix)
        yield from _by_switch(situation, matrix)


def _loaded(situation: Situation, loaded: tuple[int, ...]) -> Iterator[Finding]:
    """The one that the loader takes was seen."""
    host, driver = situation.host, situation.driver
    if driver is None:
        return
    width = min(len(loaded), len(driver.parsed))
    older = loaded[:width] < driver.parsed[:width]
    if older or unserved(situation):
        path, version = text(host.libcuda, "path")[:200] or "libcuda.so.1", text(host.libcuda, "version")[:60]
        variant = "loaded-older" if older else "loaded-unserved"
        drop = remedy("setting", "drop-compat")
        yield error("cuda-compat-shadowing", variant, path=path, version=version, driver=driver.raw, remedies=(drop,))


def _by_image(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Images known to put theirs first, by themselves or through the container runtime."""
    image, name = matrix.images.read(situation.image), situation.image[:120]
    if image is None or image.range is None or image.cuda is None:
        return
    from envcheck.rules.image_libcuda import shipped  # noqa: PLC0415  # the same

    driver, branch = situation.driver, shipped(matrix, image)
    drop = remedy("setting", "drop-compat")
    if image.range.compat_on_loader_path and situation.wsl:
        yield error("cuda-compat-shadowing", "image-wsl", image=name, remedies=(drop,))
    elif image.range.compat_on_loader_path and driver and branch and driver.branch > branch:
        yield error("cuda-compat-shadowing", "image", image=name, shipped=branch, driver=driver.raw, remedies=(drop,))
    elif driver and _takes_its_own(situation, image.range, image.cuda) and lets_pass(situation, matrix, image):
        # NVML looks healthy all the same, so that it only leaves the question open.
        make = warning if text(situation.host.driver, "nvml") == "ok" else error
        older = remedy("container", "older-image")
        yield make("cuda-compat-shadowing", "image-unserved", image=name, driver=driver.raw, remedies=(drop, older))


def _takes_its_own(situation: Situation, images: ImageRange, cuda: tuple[int, ...]) -> bool:
    """An image newer than the driver uses its own libcuda, on a GPU that does not take it."""
    used = images.compat_on_loader_path or images.compat_by_runtime
    return used and situation.driver_cuda is not None and situation.driver_cuda < cuda and unserved(situation)


def _by_path(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A compat folder on LD_LIBRARY_PATH, where it was not seen what the loader takes of it."""
    path = (known(situation.host.environment) or {}).get("LD_LIBRARY_PATH", "")
    if "compat" not in path:
        return
    folder = next((folder for folder in path[:4096].split(":") if "cuda" in folder and folder.rstrip("/").endswith("/compat")), None)
    if folder is None or situation.driver is None:
        return
    named = numbers(folder.partition("cuda-")[2])
    branch = matrix.toolkit_branch(dotted(named[:2])) if named else None
    drop = remedy("setting", "drop-compat")
    if branch and situation.driver.branch > branch:
        yield error("cuda-compat-shadowing", "path-older", folder=folder[:200], driver=situation.driver.raw, remedies=(drop,))
    elif unserved(situation):
        yield warning("cuda-compat-shadowing", "path-unserved", folder=folder[:200], driver=situation.driver.raw, remedies=(drop,))


def _by_switch(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The variable that makes an image use its own, on a host where that fails."""
    from envcheck.rules.image_libcuda import shipped, switch_on  # noqa: PLC0415  # the same

    switch = switch_on(matrix, known(situation.host.environment), part(situation.host.container, "environment"))
    image = matrix.images.read(situation.image) if situation.image else None
    if switch is None or situation.driver is None:
        return
    own = image if image is not None and image.own else None
    branch = shipped(matrix, own) if own else None
    drop = remedy("setting", "switch-off", f"export {switch}=0", variable=switch)
    params: dict[str, Param] = {"variable": switch, "driver": situation.driver.raw}
    if unserved(situation) or (branch and situation.driver.branch > branch):
        yield error("cuda-compat-shadowing", "switch", remedies=(drop,), **params)
    elif own and branch and situation.driver.branch < branch:
        yield from _undocumented(own, situation.driver.branch, params)


def _undocumented(image: Image, branch: int, params: dict[str, Param]) -> Iterator[Finding]:
    """An image's own libcuda on a branch that its documentation does not name, though nothing is known to fail."""
    from envcheck.rules.image_libcuda import documented  # noqa: PLC0415  # the same

    listed = image.gate.compat_branches if image.gate else None
    if listed and not documented(image, branch):
        shown, older = ", ".join(map(str, listed)), remedy("container", "older-image")
        cuda = dotted(image.cuda or ())
        yield warning("cuda-compat-shadowing", "switch-unlisted", cuda=cuda, listed=shown, remedies=(older,), **params)
