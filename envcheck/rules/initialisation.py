"""Rule on CUDA's own start: the GPU is listed, and CUDA still does not come up."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.model.versions import driver_version
from envcheck.rules.make import error, remedy
from envcheck.rules.situation import Situation, in_container, part, text


def cuda(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """What libcuda shows before CUDA is asked, and what torch was seen to answer; what else explains it folds this one."""
    if not situation.usable_gpus:
        return
    host = situation.host
    observed = (known(host.observed) or {}).get("torch_cuda")
    libcuda = host.libcuda
    inside = in_container(situation)
    if part(libcuda, "stub") is True:
        path = text(libcuda, "path")[:200] or "libcuda.so.1"
        yield error("cuda-init-failed", "stub", path=path, remedies=(remedy("setting", "drop-stub"),))
    elif (libcuda is None or getattr(libcuda, "path", ...) is None) and text(host.driver, "nvml") == "ok":
        steps = remedy("container", "all-capabilities", "-e NVIDIA_DRIVER_CAPABILITIES=compute,utility") if inside else _install_libcuda()
        yield error("cuda-init-failed", "missing-container" if inside else "missing", remedies=(steps,))
    elif _differs(situation):
        path, driver = text(libcuda, "path")[:200] or "libcuda.so.1", situation.driver.raw if situation.driver else "?"
        yield error("cuda-init-failed", "mismatch", path=path, library=text(libcuda, "version")[:40], driver=driver)
    elif observed is False and situation.torch is not None and situation.torch.cuda is not None:
        yield error("cuda-init-failed", torch=situation.torch.raw[:60])


def _install_libcuda() -> Remedy:
    return remedy("driver", "install-libcuda", root=True)


def _differs(situation: Situation) -> bool:
    """A libcuda that is no forward-compatibility one and of another release than the kernel's module; under WSL they always differ."""
    libcuda = situation.host.libcuda
    own, driver = driver_version(text(libcuda, "version")), situation.driver
    if own is None or driver is None or situation.wsl or part(libcuda, "compat") is not False:
        return False
    return len(own.parsed) > 1 and len(driver.parsed) > 1 and own.parsed != driver.parsed
