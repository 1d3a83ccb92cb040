"""The host as the rules need it: parsed once, resolved against the matrix, with what is not known kept apart from what is absent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
from msgspec import UNSET
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.records import GpuModel
from envcheck.matrix.release import Release
from envcheck.matrix.spec import Resolved
from envcheck.model.host import Gpu, HostReport, known
from envcheck.model.request import Request
from envcheck.model.versions import (
    ComputeCapability,
    DriverVersion,
    compute_capability,
    driver_version,
    lenient_version,
    local_cuda,
    numbers,
)
from envcheck.rules.figures import figure
from envcheck.rules.spellings import canonical, is_wsl

if TYPE_CHECKING:
    from envcheck.matrix.image_tags import ImageTag
    from envcheck.matrix.images import Image

T = TypeVar("T")
_LONGEST = 4096  # characters, as a path may have; longer text is an attack and must fill neither caches nor messages
_LONGEST_NAME = 200  # of a GPU, a package, a version
Cuda = tuple[int, ...]

# Patterns are compiled when first used: most hosts need few of them.
_MIG_NAME = r"(?i)\bMIG\b"
_CPU_BUILD = r"(?i)\+(cpu|rocm|xpu)|\b(NPU|ROCm|HIP)\b"


class GpuFact(msgspec.Struct, frozen=True):
    """One visible NVIDIA GPU. `capability` from the host, else from the catalogue by name; None = not known. Memory in MiB.

    `told` = all that the host document says of it.
    """

    name: str
    capability: ComputeCapability | None
    model: GpuModel | None
    memory_mib: float | None
    free_mib: float | None
    mig: bool
    error: str | None
    index: int | None
    told: Gpu


class TorchFact(msgspec.Struct, frozen=True):
    """torch in the target interpreter; `cuda` None with `cpu` False = not known.

    `basis` says whether `cuda` was stated or is that of the package index's wheel of this release.
    """

    raw: str
    version: Version | None
    cuda: Cuda | None
    cpu: bool
    basis: Literal["stated", "index", "unknown"]


class Situation(msgspec.Struct, frozen=True):
    """Host and request, parsed. None = not known, where the comment does not say otherwise."""

    host: HostReport
    request: Request
    arch: str | None
    glibc: tuple[int, ...] | None
    musl: bool
    python: tuple[int, int] | None
    driver: DriverVersion | None
    cuda_driver: DriverVersion | None  # whose libcuda is used: the driver's own, or a forward-compatibility one in its place
    driver_cuda: Cuda | None  # the highest CUDA release the driver shows, stated or by its branch
    driver_absent: bool
    gpus: tuple[GpuFact, ...]
    gpus_known: bool
    other_makers: tuple[str, ...]
    torch: TorchFact | None  # None = not installed or not known
    installed: Resolved | None  # the release that the installed vLLM is or grew from; None = not installed or not known
    installed_raw: str  # its version as found, "" = none
    packages: dict[str, str]
    image: str  # "" = none or not known
    from_image: bool  # `installed` is the release that the image's name states; libc and interpreter are the image's where those are known
    wsl: bool
    concluded: Release | None = None  # the release that runs here, where none is installed or asked for; known to the last rules only

    @property
    def usable_gpus(self) -> tuple[GpuFact, ...]:
        """GPUs that answered."""
        return tuple(gpu for gpu in self.gpus if gpu.error is None)

    @property
    def capabilities(self) -> tuple[ComputeCapability, ...]:
        """The distinct compute capabilities of the GPUs that answered, ascending."""
        return tuple(sorted({gpu.capability for gpu in self.usable_gpus if gpu.capability}))


def part(holder: object, name: str) -> object:
    """A field of a part of the host document that may itself be missing."""
    return None if holder is None or holder is UNSET else known(getattr(holder, name))


def text(holder: object, name: str) -> str:
    """The same as text of bounded length, "" where there is none."""
    found = part(holder, name)
    return found[:_LONGEST] if isinstance(found, str) else ""


def read_situation(host: HostReport, matrix: Matrix, request: Request) -> Situation:
    """Parse a host document against the matrix; never raises for what a host says."""
    host = canonical(host)
    arch = _arch(text(host.os, "arch"))
    packages = _packages(known(host.packages) or {})
    driver = driver_version(text(host.driver, "version"))
    libc = text(host.os, "glibc")
    gpus, others = _gpus(host, matrix)
    image = text(host.container, "image")
    cuda_driver = _cuda_driver(host, driver, gpus, _image(image, matrix), matrix)
    installed_raw = packages.get("vllm", "")
    installed, from_image = (matrix.resolve(installed_raw) if installed_raw else None), False
    if image and not installed_raw and "vllm" not in (known(host.packages) or {}):
        installed = _of_image(image, matrix)
        installed_raw, from_image = installed.raw if installed else "", installed is not None
    musl = "musl" in libc.lower() or text(host.os, "libc").lower() == "musl" or (not libc and text(host.os, "id").lower() == "alpine")
    inside = _inside(image, arch, matrix) if from_image else None
    return Situation(
        host=host,
        request=request,
        arch=arch,
        glibc=numbers(inside.glibc) if inside and inside.glibc else numbers(libc) if libc else None,
        musl=musl and not from_image,
        python=_python(inside.python) if inside and inside.python else _python(text(host.python, "version")),
        driver=driver,
        cuda_driver=cuda_driver,
        driver_cuda=_driver_cuda(host, cuda_driver, driver, matrix),
        driver_absent=host.driver is None or (host.driver is not UNSET and host.driver.version is None),
        gpus=gpus,
        gpus_known=host.gpus is not UNSET,
        other_makers=others,
        torch=_torch(host, packages, arch, matrix),
        installed=installed,
        installed_raw=installed_raw,
        packages=packages,
        image=image,
        from_image=from_image,
        wsl=_wsl(host),
    )


def _wsl(host: HostReport) -> bool:
    """As stated, else by what the system and its kernel call themselves."""
    stated = part(host.os, "wsl")
    return stated is True or (stated is None and is_wsl(text(host.os, "name"), text(host.os, "kernel")))


def unsuited(host: HostReport) -> str:
    """Why no wheel with compiled parts fits the interpreter whatever its version; "" where that is not known of it.

    The wheels are for CPython with the global lock in 64 bit: `free-threaded`, `implementation` or `bits` says which it is not.
    """
    python = known(host.python)
    if python is None:
        return ""
    made = text(python, "implementation")
    if made and made.lower() != "cpython":
        return "implementation"
    if known(python.free_threaded) is True or re.match(r"\s*3\.\d{1,2}(?:\.\d{1,2}\w{0,4})?t\b", text(python, "version")):
        return "free-threaded"
    bits = known(python.bits)
    return "bits" if isinstance(bits, int) and bits != 64 else ""


def _of_image(text: str, matrix: Matrix) -> Resolved | None:
    """The release in an image of the project, by its name; its wheel is the variant that the name's label states."""
    image = matrix.images.read(text)
    release = matrix.release(str(image.release)) if image and image.release else None
    return Resolved(release, True, image.label if image else "", release.raw) if release else None


def _packages(found: dict[str, str | None]) -> dict[str, str]:
    """Names as the index normalises them; those known to be absent left out."""
    cut = _LONGEST_NAME
    return {name[:cut].lower().replace("_", "-"): version[:cut] for name, version in found.items() if version}


def _arch(raw: str) -> str | None:
    return {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}.get(raw.lower(), raw.lower()) or None


def _python(raw: str) -> tuple[int, int] | None:
    found = numbers(raw) if raw else None
    return (found[0], found[1]) if found and len(found) >= 2 else None


def _image(text: str, matrix: Matrix) -> Image | None:
    return matrix.images.read(text) if text else None


def _inside(text: str, arch: str | None, matrix: Matrix) -> ImageTag | None:
    """What is known to be inside an image of the project."""
    image = matrix.images.read(text)
    return matrix.images.tag_of(image, arch) if image else None


def _cuda_driver(
    host: HostReport, driver: DriverVersion | None, gpus: tuple[GpuFact, ...], image: Image | None, matrix: Matrix
) -> DriverVersion | None:
    """The driver whose CUDA counts: a newer libcuda of forward compatibility replaces the driver's own, on the GPUs that take it."""
    served = bool(gpus) and all(gpu.model is not None and gpu.model.forward_compatibility for gpu in gpus)
    if driver is None or not served:
        return driver
    loaded = driver_version(text(host.libcuda, "version")) if part(host.libcuda, "compat") is True else None
    # Where it was not seen what the loader takes, an image's name and variables tell.
    if image is not None and part(host.libcuda, "compat") is None and not _wsl(host):
        from envcheck.rules.image_libcuda import own_libcuda  # noqa: PLC0415  # few hosts name an image

        loaded = own_libcuda(matrix, image, driver, known(host.environment), part(host.container, "environment"))
    return loaded if loaded and loaded.branch > driver.branch else driver


def _driver_cuda(host: HostReport, used: DriverVersion | None, driver: DriverVersion | None, matrix: Matrix) -> Cuda | None:
    # With a forward-compatibility libcuda in use, what is stated is that library's level, whether the GPU takes it or not.
    replaced = used is not driver or (used is not None and part(host.libcuda, "compat") is True)
    stated = "" if replaced else text(host.driver, "cuda")
    found = numbers(stated) if stated else None
    if found:
        return found[:2]
    return matrix.driver_max_cuda(used) if used else None


def _gpus(host: HostReport, matrix: Matrix) -> tuple[tuple[GpuFact, ...], tuple[str, ...]]:
    """NVIDIA GPUs that the process may see, and the names of accelerators of other makers."""
    others = [str(known(entry.name) or known(entry.vendor) or "")[:_LONGEST_NAME] for entry in known(host.accelerators) or []]
    found: list[GpuFact] = []
    for gpu in known(host.gpus) or []:
        name = (known(gpu.name) or "")[:_LONGEST_NAME]
        # A host document may list another maker's card under `gpus`.
        if "nvidia" not in name.lower() and matrix.names_other_maker(name):
            others.append(name)
        else:
            found.append(_gpu(gpu, name, matrix))
    return _visible(found, host), tuple(dict.fromkeys(others))


def _gpu(gpu: Gpu, name: str, matrix: Matrix) -> GpuFact:
    model = _model(matrix, name)
    stated = compute_capability(known(gpu.compute_capability) or "")
    mig, fault = known(gpu.mig), known(gpu.error)
    return GpuFact(
        name=name or "NVIDIA GPU",
        capability=stated or (compute_capability(model.compute_capability) if model else None),
        model=model,
        memory_mib=figure(gpu.memory_mib),
        free_mib=figure(gpu.memory_free_mib),
        mig=mig is True or (isinstance(mig, str) and mig not in ("", "disabled")) or bool(re.search(_MIG_NAME, name)),
        error=None if fault is None else fault[:_LONGEST_NAME],
        index=known(gpu.index),
        told=gpu,
    )


@lru_cache(maxsize=4096)
def _model(matrix: Matrix, name: str) -> GpuModel | None:
    return matrix.gpu(name) if name else None


def _visible(gpus: list[GpuFact], host: HostReport) -> tuple[GpuFact, ...]:
    """The GPUs left by CUDA_VISIBLE_DEVICES, by index or by identifier; all where it leaves none, or where that is not certain."""
    wanted = (known(host.environment) or {}).get("CUDA_VISIBLE_DEVICES")
    if not wanted:
        return tuple(gpus)
    if not re.fullmatch(r"\d{1,3}(,\d{1,3})*", wanted):
        return _identified(gpus, host)
    indices = {int(index) for index in wanted.split(",")}
    chosen = tuple(gpu for place, gpu in enumerate(gpus) if (place if gpu.index is None else gpu.index) in indices)
    return chosen or tuple(gpus)


def _identified(gpus: list[GpuFact], host: HostReport) -> tuple[GpuFact, ...]:
    """The GPUs that identifiers leave."""
    from envcheck.rules.visible import visible  # noqa: PLC0415  # few hosts name their GPUs so

    shown, listed = visible(host), known(host.gpus) or []
    told = [listed[place] for place in shown.order] if shown.certain else []
    return tuple(gpu for gpu in gpus if any(gpu.told is one for one in told)) or tuple(gpus)


def only_visible(situation: Situation, gpus: Iterable[GpuFact]) -> str:
    """The setting that leaves only these GPUs; CUDA counts by speed unless told to count as NVML does."""
    chosen = list(gpus)
    places = (place if gpu.index is None else gpu.index for place, gpu in enumerate(situation.gpus) if gpu in chosen)
    return f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={','.join(map(str, places))}"


def _torch(host: HostReport, packages: dict[str, str], arch: str | None, matrix: Matrix) -> TorchFact | None:
    raw = text(host.torch, "version") or packages.get("torch", "")
    stated = text(host.torch, "cuda")
    if not raw and not stated:
        return None
    version = lenient_version(raw) if raw else None
    cuda = (numbers(stated) if stated else None) or local_cuda(version)
    cpu = bool(re.search(_CPU_BUILD, raw)) or (cuda is None and host.torch is not UNSET and getattr(host.torch, "cuda", UNSET) is None)
    if cuda or cpu:
        return TorchFact(raw, version, cuda[:2] if cuda else None, cpu and not cuda, "stated")
    release = matrix.torch(str(Version(version.base_version))) if version else None
    build = release.build(arch or "x86_64") if release else None
    if build is None or (build.cuda is None and arch is None):
        return TorchFact(raw, version, None, False, "unknown")
    return TorchFact(raw, version, build.cuda, build.cuda is None, "index")


def in_container(situation: Situation) -> bool:
    """Whether this is the inside of a container, by its kind."""
    return bool(text(situation.host.container, "kind"))
