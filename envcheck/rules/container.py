"""Rules on container images: what they demand of the driver before they start, which libcuda they load, what their wheels need."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.images import Image, ImageRange
from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Severity
from envcheck.model.host import known
from envcheck.model.versions import driver_version, numbers
from envcheck.rules.build import Target, at_least, dotted, judge_build, runs_code
from envcheck.rules.make import error, from_clash, remedy, warning
from envcheck.rules.require_cuda import Offer, brands_of, refused
from envcheck.rules.situation import Situation, part, text

_GEFORCE = ("consumer", "laptop")
_VGPU = r"^(?:NVIDIA )?GRID |-\d{1,3}[QCAB]$"  # the profile of a virtual GPU: A100D-40C, L20-48Q


def start_gate(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The image's NVIDIA_REQUIRE_CUDA refuses this driver, so that the container does not start."""
    # Where NVML answers, the container runs: whatever gate there was let it pass.
    if situation.driver_cuda is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    stated = _stated_gate(situation)
    image = matrix.images.read(situation.image) if situation.image else None
    present, driver = dotted(situation.driver_cuda), situation.driver.raw if situation.driver else None
    older = (remedy("container", "older-image"),)
    if stated is not None:
        variable, needed = stated
        yield error(
            "container-requires-newer-cuda", "stated", variable=variable, needed=needed, present=present, driver=driver, remedies=older
        )
    elif image and image.gate and image.cuda and not _lets_pass(situation, matrix, image):
        variant, name, needed = "detail" if driver else "level", situation.image[:120], dotted(image.cuda)
        yield error("container-requires-newer-cuda", variant, image=name, needed=needed, present=present, driver=driver, remedies=older)


def _stated_gate(situation: Situation) -> tuple[str, str] | None:
    """The variable and the alternative that refuse this host, by the image's own expression."""
    environment = part(situation.host.container, "environment")
    if not isinstance(environment, dict) or not situation.driver:
        return None
    # A virtual GPU goes by a brand of its licence, which no name tells.
    models = tuple(None if re.search(_VGPU, gpu.name) else gpu.model for gpu in situation.usable_gpus)
    offer = Offer(situation.driver_cuda, situation.driver.parsed, situation.capabilities, brands_of(models))
    return refused(environment, offer)


def _lets_pass(situation: Situation, matrix: Matrix, image: Image) -> bool:
    """By the base image's own list of older branches; where that is not known, whoever is not refused for sure passes."""
    gate, shown, driver = image.gate, situation.driver_cuda, situation.driver
    if gate is None or image.cuda is None or shown is None or shown >= image.cuda or gate.also_branches is None:
        return True
    # A driver known only by its CUDA release is of one of the branches that show it.
    branches = {driver.branch} if driver else {branch for branch, cuda in matrix.branches_by_cuda if cuda == shown[:2]}
    listed = not branches or not branches.isdisjoint(gate.also_branches)
    return listed and (gate.geforce_brands or not _geforce(situation))


def _geforce(situation: Situation) -> bool:
    return any(gpu.model is not None and gpu.model.kind in _GEFORCE for gpu in situation.usable_gpus)


def _unserved(situation: Situation) -> bool:
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
    if older or _unserved(situation):
        path, version = text(host.libcuda, "path")[:200] or "libcuda.so.1", text(host.libcuda, "version")[:60]
        variant = "loaded-older" if older else "loaded-unserved"
        drop = remedy("setting", "drop-compat")
        yield error("cuda-compat-shadowing", variant, path=path, version=version, driver=driver.raw, remedies=(drop,))


def _by_image(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Images known to put theirs first, by themselves or through the container runtime."""
    image, name = matrix.images.read(situation.image), situation.image[:120]
    if image is None or image.range is None or image.cuda is None:
        return
    driver, shipped = situation.driver, matrix.toolkit_branch(dotted(image.cuda))
    drop = remedy("setting", "drop-compat")
    if image.range.compat_on_loader_path and situation.wsl:
        yield error("cuda-compat-shadowing", "image-wsl", image=name, remedies=(drop,))
    elif image.range.compat_on_loader_path and driver and shipped and driver.branch > shipped:
        yield error("cuda-compat-shadowing", "image", image=name, shipped=shipped, driver=driver.raw, remedies=(drop,))
    elif driver and _takes_its_own(situation, image.range, image.cuda) and _lets_pass(situation, matrix, image):
        # NVML looks healthy all the same, so that it only leaves the question open.
        make = warning if text(situation.host.driver, "nvml") == "ok" else error
        older = remedy("container", "older-image")
        yield make("cuda-compat-shadowing", "image-unserved", image=name, driver=driver.raw, remedies=(drop, older))


def _takes_its_own(situation: Situation, images: ImageRange, cuda: tuple[int, ...]) -> bool:
    """An image newer than the driver uses its own libcuda, on a GPU that does not take it."""
    used = images.compat_on_loader_path or images.compat_by_runtime
    return used and situation.driver_cuda is not None and situation.driver_cuda < cuda and _unserved(situation)


def _by_path(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A compat folder on LD_LIBRARY_PATH, where it was not seen what the loader takes of it."""
    path = (known(situation.host.environment) or {}).get("LD_LIBRARY_PATH", "")
    if "compat" not in path:
        return
    folder = next((folder for folder in path[:4096].split(":") if "cuda" in folder and folder.rstrip("/").endswith("/compat")), None)
    if folder is None or situation.driver is None:
        return
    named = numbers(folder.partition("cuda-")[2])
    shipped = matrix.toolkit_branch(dotted(named[:2])) if named else None
    drop = remedy("setting", "drop-compat")
    if shipped and situation.driver.branch > shipped:
        yield error("cuda-compat-shadowing", "path-older", folder=folder[:200], driver=situation.driver.raw, remedies=(drop,))
    elif _unserved(situation):
        yield warning("cuda-compat-shadowing", "path-unserved", folder=folder[:200], driver=situation.driver.raw, remedies=(drop,))


def _by_switch(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The variable that makes an image use its own, on a host where that fails."""
    switch = _switch_on(situation, matrix)
    image = matrix.images.read(situation.image) if situation.image else None
    if switch is None or situation.driver is None:
        return
    shipped = matrix.toolkit_branch(dotted(image.cuda)) if image and image.own and image.cuda else None
    drop = remedy("setting", "switch-off", f"export {switch}=0", variable=switch)
    if _unserved(situation) or (shipped and situation.driver.branch > shipped):
        yield error("cuda-compat-shadowing", "switch", variable=switch, driver=situation.driver.raw, remedies=(drop,))


def _switch_on(situation: Situation, matrix: Matrix) -> str | None:
    """The name of a variable that is on, in the process's environment or the container's."""
    inside = part(situation.host.container, "environment")
    for environment in (known(situation.host.environment), inside):
        if isinstance(environment, dict) and (found := matrix.images.switches & environment.keys()):
            name: str = min(found)
            return name if str(environment[name]).strip().lower() in ("1", "true") else None
    return None


def image_build(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """What the image's own wheel, or its CUDA alone, asks of driver and GPU, where the host document lists no vLLM of its own."""
    known_otherwise = situation.installed_raw and not situation.from_image
    if not situation.image or known_otherwise or situation.request.vllm or situation.wsl:
        return
    image = matrix.images.read(situation.image)
    if image is None or _compat_serves(situation, matrix, image):
        return
    release = matrix.release(str(image.release)) if image.release else None
    build = release.build(situation.arch or "x86_64", image.label) or release.build(situation.arch or "x86_64", "") if release else None
    if release is None or build is None or build.cuda is None or (image.cuda and build.cuda[0] != image.cuda[0]):
        yield from _cuda_major(situation, matrix, image)
        return
    # The image brings its own libc and interpreter.
    target = Target(situation.arch, None, False, None, situation.cuda_driver, situation.driver_cuda, situation.capabilities)
    for clash in judge_build(target, matrix, release, build).clashes:
        way = remedy("container", "newer-image" if clash.code == "gpu-arch-not-in-vllm-build" else "older-image")
        yield from_clash(clash, Severity(clash.severity), (way,), image=situation.image[:120])
    yield from _image_torch(situation, matrix, image, release.torch_pin or "")


def _image_torch(situation: Situation, matrix: Matrix, image: Image, pin: str) -> Iterator[Finding]:
    """The image's torch, which is the pinned release built for the image's CUDA: that may lack code which the index's build has."""
    torch = matrix.torch(pin)
    arch = situation.arch or "x86_64"
    builds = [one for one in torch.builds if one.arch == arch and one.cuda == image.cuda and one.gpu_code is not None] if torch else []
    lacking = [one for one in situation.capabilities if builds and not runs_code(matrix, one, builds[0].gpu_code or (), builds[0].ptx)]
    if lacking:
        listed = ", ".join(map(str, builds[0].gpu_code or ()))
        name, cuda, older = situation.image[:120], dotted(image.cuda or ()), remedy("container", "older-image")
        params = {"image": name, "torch": pin, "cuda": cuda, "capability": str(lacking[0]), "listed": listed}
        yield error("gpu-arch-not-in-torch-build", "image", remedies=(older,), **params)


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
    """Images that were compiled for other GPUs than the wheel of the same release."""
    if not situation.image:
        return
    image = matrix.images.read(situation.image)
    code = matrix.images.compiled_for(image, situation.arch) if image else None
    lacking = [one for one in situation.capabilities if code and not runs_code(matrix, one, code)]
    if code and lacking:
        listed, older = ", ".join(map(str, code)), remedy("container", "plain-tag")
        name = situation.image[:120]
        yield error("gpu-arch-not-in-vllm-build", "image", image=name, capability=str(lacking[0]), listed=listed, remedies=(older,))


def _compat_serves(situation: Situation, matrix: Matrix, image: Image) -> bool:
    """Whether the image's own libcuda may stand in for an older driver's: used by itself or switched on, and not known to fail."""
    used = image.compat_automatic or _switch_on(situation, matrix) is not None
    return used and not _unserved(situation)
