"""Rules on what a container was given: GPUs, the driver's libraries, device files; and the toolkit of the host that gives them."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.versions import numbers
from envcheck.rules.make import error, finding, remedy, warning
from envcheck.rules.nvml import device_files, nvidia_devices
from envcheck.rules.situation import Situation, in_container, part, text

_NOTHING = ("void", "none", "")
_NEEDED = ("compute", "utility")


def not_given(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A container whose variables or device files show that it has no GPU, or not the libraries that CUDA and NVML need."""
    if not in_container(situation) or situation.wsl:
        return
    found = part(situation.host.container, "environment")
    environment: dict[str, str] = found if isinstance(found, dict) else {}
    blind = not situation.gpus and text(situation.host.driver, "nvml") != "ok"
    shown = environment.get("NVIDIA_VISIBLE_DEVICES")
    if blind and shown is not None and shown.strip().lower() in _NOTHING:
        yield error("container-gpu-not-injected", "hidden", value=shown.strip() or '""', remedies=(start_again(situation),))
    elif blind and device_files(situation) == 0 and (situation.driver is not None or nvidia_devices(situation)):
        yield error("container-gpu-not-injected", "no-devices", remedies=(start_again(situation),))
    elif blind and device_files(situation) == 0 and _of_gpus(situation, matrix):
        yield error("container-gpu-not-injected", "image", image=situation.image[:120], remedies=(start_again(situation),))
    else:
        yield from _libraries(situation, environment.get("NVIDIA_DRIVER_CAPABILITIES", ""))
        yield from _without_uvm(situation)


def _of_gpus(situation: Situation, matrix: Matrix) -> bool:
    """Whether the container's image is made for GPUs, and nothing shows that its host has none."""
    image = matrix.images.read(situation.image) if situation.image else None
    seen = part(situation.host.pci, "devices")
    return image is not None and bool(image.cuda or image.release) and not isinstance(seen, list)


def start_again(situation: Situation) -> Remedy:
    """Start a container anew with GPUs, as its kind is started."""
    kind = text(situation.host.container, "kind")
    if kind == "docker":
        return remedy("container", "start-with-gpus", "docker run --gpus all …")
    if kind == "podman":
        return remedy("container", "start-with-gpus", "podman run --device nvidia.com/gpu=all …")
    if kind == "apptainer":
        return remedy("container", "start-with-gpus", "apptainer exec --nv …")
    return remedy("container", "request-gpus" if kind == "kubernetes" else "start-with-gpus")


def _libraries(situation: Situation, capabilities: str) -> Iterator[Finding]:
    """The variable names what is mounted; empty stands for both that are needed."""
    named = {word.strip() for word in capabilities[:1000].lower().split(",")} - {""}
    missing = [word for word in _NEEDED if word not in named] if named and "all" not in named else []
    host = situation.host
    # What is there all the same was mounted in another way.
    if "compute" in missing and text(host.libcuda, "path"):
        missing.remove("compute")
    if "utility" in missing and text(host.driver, "nvml") == "ok":
        missing.remove("utility")
    if not missing:
        return
    absent = host.libcuda is None or getattr(host.libcuda, "path", ...) is None or text(host.driver, "nvml") == "LibraryNotFound"
    make = error if absent else warning
    again = remedy("container", "all-capabilities", "-e NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    yield make("container-gpu-not-injected", "capabilities", missing=", ".join(missing), value=capabilities[:200], remedies=(again,))


def _without_uvm(situation: Situation) -> Iterator[Finding]:
    """CUDA opens /dev/nvidia-uvm; NVML does not, so that nvidia-smi looks healthy without it."""
    devices = part(situation.host.container, "devices")
    if isinstance(devices, list) and device_files(situation) and "/dev/nvidiactl" in devices and "/dev/nvidia-uvm" not in devices:
        yield error("cuda-init-failed", "uvm", remedies=(start_again(situation), remedy("service", "load-uvm", root=True)))


def toolkit(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The NVIDIA Container Toolkit of a host with engines: missing, not configured, too old. Decides only where an image is asked about."""
    from envcheck.rules.driver_install import toolkit_commands  # noqa: PLC0415  # only where engines lack the toolkit

    runtime = situation.host.container_runtime
    engines = part(runtime, "engines")
    if not isinstance(engines, list) or not situation.usable_gpus or in_container(situation):
        return
    asked = bool(situation.image)
    able = [name for name in engines if name in ("docker", "containerd", "cri-o", "podman")]
    if not able:
        return
    version, configured = part(runtime, "toolkit"), part(runtime, "configured")
    if getattr(runtime, "toolkit", ...) is None and not part(runtime, "cdi"):
        install = remedy("container", "install-toolkit", *toolkit_commands(situation, matrix, able[0]), root=True)
        severity = Severity.ERROR if asked else Severity.INFO
        yield finding("container-toolkit-missing", severity, engines=", ".join(able), remedies=(install,))
    elif version and isinstance(configured, list) and not configured and not part(runtime, "cdi"):
        configure = remedy("container", "configure-toolkit", *toolkit_commands(situation, matrix, able[0], install=False), root=True)
        severity = Severity.WARNING if asked else Severity.INFO
        yield finding("container-toolkit-missing", severity, "unconfigured", engines=", ".join(able), remedies=(configure,))
    yield from _too_old(situation, matrix, version, asked)


def _too_old(situation: Situation, matrix: Matrix, version: object, asked: bool) -> Iterator[Finding]:
    floor = matrix.drivers.toolkit_floor(situation.driver.branch, wsl=situation.wsl) if situation.driver else None
    if not floor or not isinstance(version, str):
        return
    have, needed = numbers(version), numbers(floor)
    from envcheck.rules.driver_install import renew_toolkit  # noqa: PLC0415  # only where engines lack the toolkit

    if have and needed and len(have) > 1 and have < needed and situation.driver:
        severity = Severity.WARNING if asked else Severity.INFO
        renew = remedy("container", "renew-toolkit", *(() if situation.wsl else renew_toolkit(situation, matrix)), root=True)
        params = {"version": version[:40], "needed": floor, "driver": situation.driver.raw}
        yield finding("container-toolkit-too-old", severity, remedies=(renew,), **params)
