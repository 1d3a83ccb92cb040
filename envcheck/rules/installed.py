"""Rules on what is installed in the target interpreter: vLLM, torch and their companions must be of one kind.

They speak as of an environment that is used; where the question is about a fresh one, the judge makes warnings of their errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.matrix.torch_release import TorchBuild
from envcheck.model.finding import Finding, Severity
from envcheck.model.plan import Clash
from envcheck.model.text import Text
from envcheck.model.versions import lenient_version, local_cuda
from envcheck.rules.build import at_least, dotted, runs_code
from envcheck.rules.make import error, finding, from_clash, remedy
from envcheck.rules.situation import Situation, TorchFact

FRESH = remedy("fresh-environment", "fresh-environment")
_CU12, _CU13 = r"\bcu12", r"\bcu13"


def torch_build(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A torch without CUDA on an NVIDIA host."""
    torch = situation.torch
    if torch is None or not torch.cpu or (not situation.gpus and situation.gpus_known) or situation.other_makers:
        return
    key = "detail" if torch.basis == "stated" else "likely"
    severity = Severity.ERROR if torch.basis == "stated" else Severity.WARNING
    yield finding("torch-cpu-build", severity, key, torch=torch.raw or "?", remedies=(FRESH,))


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
    """Whether the installed torch has code for every GPU; without its release, whether any torch of that CUDA release has."""
    for capability in situation.capabilities:
        builds = _builds_of(torch, matrix, situation.arch or "x86_64")
        codes = [(build.gpu_code, build.ptx) for build in builds]
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


def _builds_of(torch: TorchFact, matrix: Matrix, arch: str) -> list[TorchBuild]:
    release = matrix.torch(str(Version(torch.version.base_version))) if torch.version else None
    candidates = [release] if release else list(matrix.torch_releases)
    return [build for found in candidates for build in found.builds if build.arch == arch and build.cuda and build.cuda[:2] == torch.cuda]


def torch_pin(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The installed torch against the release that the installed vLLM was compiled with."""
    installed, torch = situation.installed, situation.torch
    pin = installed.release.torch_pin if installed else None
    if installed is None or pin is None or torch is None or torch.version is None or torch.version.is_prerelease:
        return
    if Version(torch.version.base_version) != Version(pin):
        severity = Severity.ERROR if installed.exact else Severity.WARNING
        params = {"vllm": situation.installed_raw[:60], "needed": pin, "present": torch.raw[:60]}
        yield finding("torch-vllm-mismatch", severity, "detail", remedies=(FRESH,), **params)


def cuda_majors(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The CUDA major of the installed vLLM against that of the installed torch."""
    installed, torch = situation.installed, situation.torch
    if installed is None or torch is None or torch.cuda is None:
        return
    build = installed.release.build(situation.arch or "x86_64", installed.variant)
    major = build.cuda_major if build else None
    if major is None or major == torch.cuda[0]:
        return
    severity = Severity.ERROR if installed.exact else Severity.WARNING
    params = {"vllm": situation.installed_raw[:60], "needed": str(major), "torch": torch.raw or "torch", "present": dotted(torch.cuda)}
    yield finding("cuda-major-mismatch", severity, "detail", remedies=(FRESH,), **params)


def mixed_wheels(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """CUDA 12 and CUDA 13 library wheels side by side in one environment."""
    seen = [
        f"{name} {version}"
        for name, version in situation.packages.items()
        if name.startswith(("nvidia-", "nccl", "cudnn", "torch")) and not _twin(name, version, situation.packages)
    ]
    twelve = [entry for entry in seen if re.search(_CU12, entry)]
    thirteen = [entry for entry in seen if re.search(_CU13, entry)]
    if twelve and thirteen:
        severity = Severity.ERROR if _torch_was_replaced(situation) else Severity.WARNING
        params = {"twelve": twelve[0][:80], "thirteen": thirteen[0][:80]}
        yield finding("mixed-cuda-major-wheels", severity, remedies=(FRESH,), **params)


def _torch_was_replaced(situation: Situation) -> bool:
    """Whether a vLLM for CUDA 12 lies beside CUDA 13 libraries, with nothing known of torch's own build.

    pip leaves the libraries of a replaced torch behind. So older ones beside a newer vLLM are harmless leftovers, while newer ones
    mean that torch was replaced under vLLM.
    """
    installed, torch = situation.installed, situation.torch
    if installed is None or (torch is not None and torch.basis == "stated"):
        return False
    build = installed.release.build(situation.arch or "x86_64", installed.variant)
    return build is not None and build.cuda_major == 12


def _twin(name: str, version: str, packages: dict[str, str]) -> bool:
    """Whether the same release of this library for the other major is there too: a project that ships both means them to lie together."""
    for own, other in (("-cu12", "-cu13"), ("-cu13", "-cu12")):
        if name.endswith(own) and packages.get(name.removesuffix(own) + other) == version:
            return True
    return False


def companions(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Torchvision and torchaudio of another CUDA major than torch."""
    torch = situation.torch
    for name in ("torchvision", "torchaudio"):
        raw = situation.packages.get(name, "")
        own = local_cuda(lenient_version(raw)) if raw else None
        if own and torch and torch.cuda and own[0] != torch.cuda[0]:
            yield error("torchvision-mismatch", package=f"{name} {raw}"[:80], torch=torch.raw or dotted(torch.cuda), remedies=(FRESH,))
            return


def flashinfer(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The flashinfer packages check that they are of one release when imported."""
    parts = {
        name: situation.packages.get(name, "") for name in ("flashinfer-python", "flashinfer", "flashinfer-cubin", "flashinfer-jit-cache")
    }
    parsed = {name: found.public for name, raw in parts.items() if raw and (found := lenient_version(raw))}
    if len(set(parsed.values())) > 1:
        listed = ", ".join(f"{name} {version}" for name, version in parsed.items())
        yield error("flashinfer-mismatch", packages=listed[:200], remedies=(FRESH,))
