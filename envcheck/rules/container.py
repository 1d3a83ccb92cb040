"""Rules on the project's own container images: what they demand of the driver before they start, and which libcuda they load."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from envcheck.matrix.images import ImageRange
from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.versions import numbers
from envcheck.rules.build import dotted
from envcheck.rules.make import error, remedy
from envcheck.rules.situation import Situation, part, text

# Patterns are compiled when first used: most hosts need few of them.
_OWN_IMAGE = r"(?:^|/)vllm/vllm-openai:v(\d+\.\d+\.\d+(?:\.post\d+)?)(?:[-@].*)?$"
_LABEL = r"-cu(\d{2})(\d)\b"


def _image(situation: Situation, matrix: Matrix) -> tuple[ImageRange, tuple[int, ...], str] | None:
    """The image's range, its CUDA release, its vLLM release."""
    found = re.search(_OWN_IMAGE, situation.image[:300]) if situation.image else None
    if not found:
        return None
    record = matrix.images.of(Version(found[1]))
    if record is None:
        return None
    label = re.search(_LABEL, situation.image[:300])
    cuda = (int(label[1]), int(label[2])) if label else numbers(record.cuda)
    return (record, cuda[:2], found[1]) if cuda else None


def start_gate(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The image's NVIDIA_REQUIRE_CUDA refuses this driver, so that the container does not start."""
    image, shown = _image(situation, matrix), situation.driver_cuda
    if image is None or shown is None or situation.driver is None or situation.wsl or text(situation.host.driver, "nvml") == "ok":
        return
    _, cuda, release = image
    gate = matrix.images.gate(dotted(cuda))
    if shown >= cuda or gate is None or gate.also_branches is None:
        return
    consumer = any(gpu.model is not None and gpu.model.kind in ("consumer", "laptop") for gpu in situation.usable_gpus)
    if situation.driver.branch in gate.also_branches and (gate.geforce_brands or not consumer):
        return
    yield error(
        "container-requires-newer-cuda",
        image=situation.image[:120],
        vllm=release,
        needed=dotted(cuda),
        present=dotted(shown),
        driver=situation.driver.raw,
        remedies=(remedy("container", "older-image"),),
    )


def compat_shadowing(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A forward-compatibility libcuda that is older than the kernel's driver (803), or on a card it does not serve (804)."""
    host = situation.host
    loaded = numbers(text(host.libcuda, "version") or "")
    unset = remedy("setting", "drop-compat")
    if part(host.libcuda, "compat") is True and loaded and situation.driver:
        older = loaded[0] < situation.driver.branch
        consumer = any(gpu.model is not None and not gpu.model.forward_compatibility for gpu in situation.usable_gpus)
        if older or consumer:
            params = {
                "path": text(host.libcuda, "path") or "libcuda.so.1",
                "version": text(host.libcuda, "version")[:60],
                "driver": situation.driver.raw,
            }
            yield error("cuda-compat-shadowing", "loaded-older" if older else "loaded-unserved", remedies=(unset,), **params)
        return
    image = _image(situation, matrix)
    if image is None or not image[0].compat_on_loader_path or part(host.libcuda, "compat") is False:
        return
    shipped = matrix.toolkit_branch(dotted(image[1]))
    if situation.wsl:
        yield error("cuda-compat-shadowing", "image-wsl", remedies=(unset,), image=situation.image[:120])
    elif situation.driver and shipped and situation.driver.branch > shipped:
        yield error(
            "cuda-compat-shadowing", "image", remedies=(unset,), image=situation.image[:120], shipped=shipped, driver=situation.driver.raw
        )
