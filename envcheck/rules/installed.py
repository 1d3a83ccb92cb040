"""Rules on vLLM and torch in the target interpreter: both must be of one kind, and of the kind that the GPU and the driver take.

They speak as of an environment that is used; where the question is about a fresh one, the judge makes warnings of their errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.packages import in_range, series
from envcheck.matrix.spec import Resolved
from envcheck.matrix.torch_release import Torch, TorchBuild
from envcheck.model.finding import Finding, Remedy, Severity
from envcheck.model.host import known
from envcheck.model.stack import Clash
from envcheck.model.text import Text
from envcheck.model.versions import ComputeCapability, compute_capability, lenient_version
from envcheck.rules.build import at_least, dotted, runs_code
from envcheck.rules.make import error, finding, from_clash, info, remedy, warning
from envcheck.rules.situation import Situation, TorchFact, part
from envcheck.rules.target_environment import FRESH, built_from_source, in_conda, installer, released_torch, vendors_build, wheel_cuda_major

_CU12, _CU13 = r"\bcu12", r"\bcu13"
_CUDA_LABEL = r"\+cu(\d\d)\d$"
_OTHER_TORCH = r"(?i)\+(rocm|xpu)|\b(ROCm|HIP|NPU)\b"
_OTHER_VLLM = r"\+(?:.*\.)?(cpu|rocm\d*|xpu|tpu|neuron|hpu|empty)\b"
_LIBRARIES = ("nvidia-cublas", "nvidia-cudnn", "nvidia-nccl")  # what a CUDA torch of an index brings along, by any CUDA major
_SHOWN = 60  # characters of a version

Code = tuple[tuple[ComputeCapability, ...] | None, tuple[ComputeCapability, ...]]


def vllm_build(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A vLLM made for something else than NVIDIA GPUs, on a host that has one."""
    raw = situation.installed_raw
    if "+" not in raw or not situation.gpus or situation.other_makers:
        return
    if label := re.search(_OTHER_VLLM, raw):
        yield error("vllm-extension-not-loaded", "other-device", vllm=raw[:_SHOWN], device=label[1], remedies=(FRESH,))


def torch_build(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A torch without CUDA on an NVIDIA host."""
    torch = situation.torch
    if torch is None or not torch.cpu or (not situation.gpus and situation.gpus_known) or situation.other_makers:
        return
    if torch.basis == "stated":
        other = re.search(_OTHER_TORCH, torch.raw)
        yield error("torch-cpu-build", "other-maker" if other else "detail", torch=torch.raw[:_SHOWN] or "?", remedies=(FRESH,))
    elif not _brings_cuda(situation):
        # An image or conda may hold a torch of its own; where pip took the index's, it has no CUDA.
        sure = situation.arch == "aarch64" and not situation.image and not in_conda(situation)
        severity = Severity.ERROR if sure else Severity.WARNING
        yield finding("torch-cpu-build", severity, "likely", torch=torch.raw[:_SHOWN] or "?", remedies=(FRESH,))


def _brings_cuda(situation: Situation) -> bool:
    """Whether the libraries that a CUDA torch needs lie beside it."""
    return any(name.startswith(_LIBRARIES) for name in situation.packages)


def torch_driver(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The installed torch against the driver and the GPU."""
    torch = situation.torch
    if torch is None or torch.cuda is None:
        return
    yield from _driver(situation, torch, matrix)
    yield from _code(situation, torch, matrix)


def _driver(situation: Situation, torch: TorchFact, matrix: Matrix) -> Iterator[Finding]:
    cuda = torch.cuda or ()
    floor = matrix.cuda_floor(cuda[0])
    driver, shown = situation.cuda_driver, situation.driver_cuda
    if floor is None or (driver is None and shown is None):
        return
    fine = at_least(driver, floor) if driver else shown is not None and shown[0] >= cuda[0]
    if fine:
        return
    present = driver.raw if driver else f"CUDA {dotted(shown or ())}"
    params = {"torch": torch.raw or "torch", "cuda": str(cuda[0]), "needed": floor.raw, "driver": present}
    detail = Text("finding.driver-too-old-for-cuda.torch", params)
    yield from_clash(Clash("driver-too-old-for-cuda", detail, floor.raw, present), Severity.ERROR, (FRESH,))


def _code(situation: Situation, torch: TorchFact, matrix: Matrix) -> Iterator[Finding]:
    """Whether the installed torch has code for every GPU: as it states itself, else by the table of releases."""
    capabilities = situation.capabilities
    if not capabilities:
        return
    codes = _stated_code(situation) or [(build.gpu_code, build.ptx) for build in _builds_of(torch, matrix, situation.arch or "x86_64")]
    for capability in capabilities:
        if codes and all(code is not None and not runs_code(matrix, capability, code, ptx) for code, ptx in codes):
            inside = ", ".join(map(str, codes[0][0] or ()))
            params = {
                "torch": f"torch {torch.raw}" if torch.raw else f"torch for CUDA {dotted(torch.cuda or ())}",
                "capability": str(capability),
                "code": inside,
            }
            detail = Text("finding.gpu-arch-not-in-torch-build.installed", params)
            yield from_clash(Clash("gpu-arch-not-in-torch-build", detail, inside, str(capability)), Severity.ERROR, (FRESH,))
            return


def _stated_code(situation: Situation) -> list[Code]:
    """What `torch.cuda.get_arch_list()` said: `sm_90a` is machine code, `compute_90` PTX; empty where it was not asked."""
    listed = part(situation.host.torch, "arch_list")
    if not isinstance(listed, list) or not listed:
        return []
    parsed = [(text, found) for text in map(str, listed[:64]) if (found := compute_capability(text))]
    code = tuple(found for text, found in parsed if text.startswith("sm_"))
    return [(code, tuple(found for text, found in parsed if text.startswith("compute_")))] if parsed else []


def _builds_of(torch: TorchFact, matrix: Matrix, arch: str) -> list[TorchBuild]:
    """The builds it may be; without its release, those of any release for its CUDA. A nightly or a vendor's build is in no table."""
    if torch.version and torch.version.is_prerelease:
        return []
    release = _release(matrix, torch.raw) if torch.version else None
    candidates = [release] if release else list(matrix.torch_releases)
    return [build for found in candidates for build in found.builds if build.arch == arch and build.cuda and build.cuda[:2] == torch.cuda]


@lru_cache(maxsize=1024)
def _release(matrix: Matrix, raw: str) -> Torch | None:
    version = lenient_version(raw)
    return matrix.torch(str(Version(version.base_version))) if version else None


def torch_pin(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The installed torch against the release that the installed vLLM was compiled with, or the range that its metadata name."""
    installed, torch = situation.installed, situation.torch
    pin = installed.release.torch_pin if installed else None
    if installed is not None and pin is None and torch is not None:
        yield from _torch_range(situation, installed)
    if installed is None or pin is None or torch is None or torch.version is None:
        return
    released, wanted = released_torch(situation), lenient_version(pin)
    if wanted is None or released == wanted:
        return
    params = {"vllm": situation.installed_raw[:_SHOWN], "needed": pin, "present": torch.raw[:_SHOWN]}
    certain = installed.exact and not built_from_source(situation)
    if released is None:
        if certain:  # no table holds this torch
            severity = Severity.INFO if series(torch.version) == series(wanted) else Severity.WARNING
            yield finding("torch-vllm-mismatch", severity, "foreign", remedies=(), **params)
    elif not vendors_build(situation):
        severity = Severity.ERROR if certain else Severity.WARNING
        ways = _again(situation) if certain else (FRESH,)
        yield finding("torch-vllm-mismatch", severity, "detail", remedies=ways, **params)


def _torch_range(situation: Situation, installed: Resolved) -> Iterator[Finding]:
    """Releases without a pin name a range, whose upper end was found out later; a torch outside it has other binary interfaces."""
    record, released = installed.release.record, released_torch(situation)
    wanted = ",".join(text for text in (record.requires.get("torch", ""), record.constraints.get("torch", "")) if text)
    if not wanted or released is None or in_range(released, wanted) or vendors_build(situation):
        return
    certain = installed.exact and not built_from_source(situation)
    raw = situation.torch.raw[:_SHOWN] if situation.torch else ""
    params = {"vllm": situation.installed_raw[:_SHOWN], "needed": wanted, "present": raw}
    yield finding("torch-vllm-mismatch", Severity.ERROR if certain else Severity.WARNING, "detail", remedies=(FRESH,), **params)


def _again(situation: Situation) -> tuple[Remedy, ...]:
    """Installing the same vLLM again brings its torch, where the index's torch is the one it needs."""
    installed = situation.installed
    build = installed.release.build(situation.arch or "x86_64", installed.variant) if installed else None
    if installed is None or build is None or build.variant or build.record.torch_variant:
        return (FRESH,)
    if situation.python is not None and situation.python not in installed.release.python_minors:
        return (FRESH,)  # an installer finds no wheel of it for this interpreter
    return (remedy("setting", "install-vllm-again", installer(situation, "install", f"vllm=={installed.release.raw}")), FRESH)


def cuda_majors(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The CUDA major of the installed vLLM against that of the installed torch."""
    installed, torch = situation.installed, situation.torch
    if installed is None or torch is None or torch.cuda is None:
        return
    major = wheel_cuda_major(situation)
    if major is None or major == torch.cuda[0]:
        return
    severity = Severity.ERROR if installed.exact else Severity.WARNING
    params = {"vllm": situation.installed_raw[:_SHOWN], "needed": str(major), "torch": torch.raw or "torch", "present": dotted(torch.cuda)}
    yield finding("cuda-major-mismatch", severity, "detail", remedies=(FRESH,), **params)


def mixed_wheels(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """CUDA 12 and CUDA 13 library wheels side by side in one environment."""
    seen = [
        f"{name} {version}"
        for name, version in situation.packages.items()
        if name.startswith(("nvidia-", "nccl", "cudnn", "torch")) and not _twin(name, version, situation.packages)
    ]
    twelve = [entry for entry in seen if re.search(_CU12, entry)] if seen else []
    thirteen = [entry for entry in seen if re.search(_CU13, entry)] if twelve else []
    if not thirteen:
        return
    params = {"twelve": twelve[0][:80], "thirteen": thirteen[0][:80]}
    if _torch_was_replaced(situation):
        yield error("mixed-cuda-major-wheels", remedies=(FRESH,), **params)
    elif any(entry.startswith(project) for entry in _left_over(situation, twelve, thirteen) for project in matrix.packages.shared_folders):
        yield warning("mixed-cuda-major-wheels", "one-folder", remedies=(FRESH,), **params)
    elif wheel_cuda_major(situation) is None:
        yield warning("mixed-cuda-major-wheels", remedies=(FRESH,), **params)
    else:
        yield info("mixed-cuda-major-wheels", "leftover", **params)


def _left_over(situation: Situation, twelve: list[str], thirteen: list[str]) -> list[str]:
    """The libraries of the major that torch does not use; of both where torch's is not known."""
    cuda = situation.torch.cuda if situation.torch else None
    if cuda is None:
        return [*twelve, *thirteen]
    return thirteen if cuda[0] == 12 else twelve


def _torch_was_replaced(situation: Situation) -> bool:
    """Whether a vLLM for CUDA 12 lies beside CUDA 13 libraries, with nothing known of torch's own build.

    pip leaves the libraries of a replaced torch behind. So older ones beside a newer vLLM are harmless leftovers, while newer ones
    mean that torch was replaced under vLLM.
    """
    torch = situation.torch
    if situation.installed is None or (torch is not None and torch.basis == "stated"):
        return False
    return wheel_cuda_major(situation) == 12


def _twin(name: str, version: str, packages: dict[str, str]) -> bool:
    """Whether the same release of this library for the other major is there too: a project that ships both means them to lie together."""
    for own, other in (("-cu12", "-cu13"), ("-cu13", "-cu12")):
        if name.endswith(own) and packages.get(name.removesuffix(own) + other) == version:
            return True
    return False


def wanted_backend(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The torch that an installer would take by its settings, against what the wheel in question needs."""
    environment = known(situation.host.environment)
    torch = situation.torch
    if not environment or (torch and torch.cuda and torch.cuda[0] == _wanted_major(situation, matrix)):
        return  # nothing set, or what is installed is right
    backend = environment.get("UV_TORCH_BACKEND", "").strip().lower()[:40]
    indexes = " ".join(environment.get(name, "")[:4096] for name in _INDEXES)
    named = re.search(r"/whl/(cu\d{3}|cpu)\b", indexes) if "/whl/" in indexes else None
    if backend:
        yield from _by_backend(situation, matrix, backend)
    elif named:
        yield from _by_index(situation, matrix, named[1])


_INDEXES = ("UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL")


def _by_backend(situation: Situation, matrix: Matrix, backend: str) -> Iterator[Finding]:
    wanted = _wanted_major(situation, matrix)
    gpus = bool(situation.gpus)
    if backend == "cpu" and (gpus or not situation.gpus_known):
        yield warning("torch-backend-mismatch", "cpu", backend=backend, remedies=(_unset("UV_TORCH_BACKEND"),))
    elif backend == "auto" and situation.gpus_known and not gpus and situation.driver_absent:
        yield warning("torch-backend-mismatch", "no-gpu", remedies=(_unset("UV_TORCH_BACKEND"),))
    elif backend == "auto" and wanted == 12 and situation.driver_cuda and situation.driver_cuda[0] > wanted:
        shown = dotted(situation.driver_cuda)
        yield warning("torch-backend-mismatch", "auto", cuda=str(wanted), driver=shown, remedies=(_unset("UV_TORCH_BACKEND"),))
    elif re.fullmatch(r"cu\d{3}", backend) and wanted is not None and int(backend[2:4]) != wanted:
        yield warning("torch-backend-mismatch", cuda=str(wanted), backend=backend, remedies=(_unset("UV_TORCH_BACKEND"),))


def _by_index(situation: Situation, matrix: Matrix, variant: str) -> Iterator[Finding]:
    wanted = _wanted_major(situation, matrix)
    if variant == "cpu":
        if situation.gpus:
            yield warning("torch-backend-mismatch", "cpu", backend=variant, remedies=())
    elif wanted is not None and int(variant[2:4]) != wanted:
        yield warning("torch-backend-mismatch", "index", cuda=str(wanted), backend=variant)


def _unset(variable: str) -> Remedy:
    return remedy("setting", "drop-variable", f"unset {variable}", variable=variable)


def _wanted_major(situation: Situation, matrix: Matrix) -> int | None:
    """The CUDA major of the wheel in question: the installed vLLM's, else that of the newest release asked for."""
    if situation.installed is not None:
        return wheel_cuda_major(situation)
    if not situation.request.vllm:
        return None
    if label := re.search(_CUDA_LABEL, situation.request.vllm[:_SHOWN]):
        return int(label[1])
    build = matrix.matching(situation.request.vllm)[0].build(situation.arch or "x86_64")
    return build.cuda_major if build else None
