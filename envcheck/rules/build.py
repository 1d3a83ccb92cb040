"""One wheel against one host: what clashes, in causal order. Shared by the rules and by planning, so that both say the same."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Build, Release, specifier
from envcheck.matrix.torch_release import TorchBuild
from envcheck.model.stack import Clash
from envcheck.model.text import Text
from envcheck.model.versions import ComputeCapability, DriverVersion, compute_capability


class Target(msgspec.Struct, frozen=True):
    """What of a host decides about a wheel; hashable, so that equal hosts are judged once. None = not known."""

    arch: str | None
    glibc: tuple[int, ...] | None
    musl: bool
    python: tuple[int, int] | None
    driver: DriverVersion | None
    driver_cuda: tuple[int, ...] | None
    capabilities: tuple[ComputeCapability, ...]


class Judged(msgspec.Struct, frozen=True):
    """The clashes of one wheel (empty = it runs), the torch variant it would take ("" = the package index's), and what was not known."""

    release: Release
    build: Build
    torch: TorchBuild | None
    clashes: tuple[Clash, ...]
    undecided: tuple[str, ...]

    @property
    def errors(self) -> tuple[Clash, ...]:
        """What keeps it from running."""
        return tuple(clash for clash in self.clashes if clash.severity == "error")

    @property
    def warnings(self) -> tuple[Clash, ...]:
        """What may hurt though it runs."""
        return tuple(clash for clash in self.clashes if clash.severity == "warning")


def dotted(numbers: tuple[int, ...]) -> str:
    """(12, 9) as 12.9."""
    return ".".join(map(str, numbers))


def at_least(driver: DriverVersion, floor: DriverVersion) -> bool:
    """Whether a driver is new enough; one known by its branch alone counts as that branch's newest."""
    return driver.parsed[: len(floor.parsed)] >= floor.parsed[: len(driver.parsed)]


def runs_code(
    matrix: Matrix, capability: ComputeCapability, code: tuple[ComputeCapability, ...], ptx: tuple[ComputeCapability, ...] = ()
) -> bool:
    """Whether machine code for `code` runs on a GPU: the same major and no newer minor; integrated GPUs only their own; PTX upward."""
    integrated = matrix.integrated
    if capability in integrated:
        return capability in code
    if any(built.major == capability.major and built.minor <= capability.minor and built not in integrated for built in code):
        return True
    return any(built <= capability for built in ptx)


def judge_build(target: Target, matrix: Matrix, release: Release, build: Build, *, installed: bool = False) -> Judged:
    """All clashes of a wheel with a host. `installed` = the wheel is there already, so that what an installer checks no longer counts."""
    torch, torch_clashes = _torch(target, matrix, release, build)
    clashes = [*_gpu(target, matrix, release, build), *_driver(target, matrix, release, build), *_ptx(target, matrix, release, build)]
    if not installed:
        clashes += _libc_tag(target, release, build, torch, matrix)
    clashes += _libc(target, release, build)
    if not installed:
        clashes += [*python_clash(target.python, release), *torch_clashes]
    return Judged(release, build, torch, tuple(clashes), _undecided(target, build, installed))


def _undecided(target: Target, build: Build, installed: bool) -> tuple[str, ...]:
    names = []
    if build.gpu_code is None:
        names.append("matrix.gpu_code")
    if not target.capabilities:
        names.append("gpus.compute_capability")
    if target.driver is None and target.driver_cuda is None:
        names.append("driver.version")
    if not installed and target.arch is None:
        names.append("os.arch")
    if not installed and target.glibc is None and not target.musl:
        names.append("os.glibc")
    return tuple(names)


def name_of(release: Release, build: Build) -> str:
    """A wheel as people write it: 0.32.0+cu129."""
    return f"{release.raw}+{build.variant}" if build.variant else release.raw


def _gpu(target: Target, matrix: Matrix, release: Release, build: Build) -> list[Clash]:
    code = build.gpu_code
    if code is None:
        # What the wheel holds is not known; the oldest GPU its engines take is.
        oldest = _oldest_served(matrix, release)
        code = () if oldest is None else (oldest,)
        below = [capability for capability in target.capabilities if oldest and capability < oldest]
    else:
        below = [c for c in target.capabilities if not runs_code(matrix, c, code, build.gpu_code_ptx) or _before(matrix, c, build)]
    found = []
    for capability in below:
        old = capability < min(code)
        basis = build.record.gpu_code_basis if build.gpu_code is not None else "engine"
        params = {"vllm": name_of(release, build), "capability": str(capability), "code": ", ".join(map(str, code)), "basis": basis}
        which = "gpu-too-old" if old else "gpu-arch-not-in-vllm-build"
        needed = f"{min(code)}" if old else ", ".join(map(str, code))
        variant = "detail" if basis == "artefact" else "inferred"
        found.append(Clash(which, Text(f"finding.{which}.{variant}", params), needed, str(capability)))
    return found


def _before(matrix: Matrix, capability: ComputeCapability, build: Build) -> bool:
    """Whether a wheel was compiled by a CUDA release that does not serve the GPU's architecture yet."""
    first = matrix.first_cuda.get(capability)
    return first is not None and build.cuda is not None and build.cuda < first


def _oldest_served(matrix: Matrix, release: Release) -> ComputeCapability | None:
    """The oldest compute capability that any engine of a release takes."""
    entry = matrix.engine(release)
    floors = (entry.v0_min_capability, entry.v1_min_capability) if entry else ()
    return min((found for floor in floors if floor and (found := compute_capability(floor))), default=None)


def _driver(target: Target, matrix: Matrix, release: Release, build: Build) -> list[Clash]:
    major = build.cuda_major
    floor = matrix.cuda_floor(major) if major else None
    if major is None or floor is None:
        return []
    if target.driver is not None:
        if at_least(target.driver, floor):
            return []
        present = target.driver.raw
    elif target.driver_cuda is None or target.driver_cuda[0] >= major:
        return []
    else:
        present = f"CUDA {dotted(target.driver_cuda)}"
    params = {"vllm": name_of(release, build), "cuda": str(major), "needed": floor.raw, "driver": present}
    return [Clash("driver-too-old-for-cuda", Text("finding.driver-too-old-for-cuda.detail", params), floor.raw, present)]


def _ptx(target: Target, matrix: Matrix, release: Release, build: Build) -> list[Clash]:
    shown = target.driver_cuda
    if shown is None or build.cuda_major is None or shown[0] < build.cuda_major:
        return []  # not known, or the driver is too old altogether, which is said already
    found = []
    for kernel in build.ptx_kernels:
        hit = [capability for capability in target.capabilities if capability >= kernel.needed_from]
        if not hit or shown >= kernel.cuda:
            continue
        always = matrix.capability_trait("translated-attention-is-default-from")
        params = {
            "vllm": name_of(release, build),
            "component": kernel.component,
            "needed": dotted(kernel.cuda),
            "present": dotted(shown),
            "driver": target.driver.raw if target.driver else f"CUDA {dotted(shown)}",
            "branch": driver_for(matrix, kernel.cuda),
            "capability": str(hit[-1]),
        }
        severe = always is None or hit[-1] >= always
        key = "finding.driver-too-old-for-ptx.detail" if severe else "finding.driver-too-old-for-ptx.partly"
        found.append(
            Clash(
                "driver-too-old-for-ptx",
                Text(key, params),
                f"CUDA {dotted(kernel.cuda)}",
                f"CUDA {dotted(shown)}",
                "error" if severe else "warning",
            )
        )
    return found


def driver_for(matrix: Matrix, cuda: tuple[int, ...]) -> str:
    """The oldest branch that shows at least a CUDA release, as text; "" when none is known."""
    branches = [number for number, shown in matrix.branches_by_cuda if shown >= cuda]
    return str(min(branches)) if branches else ""


def _libc_tag(target: Target, release: Release, build: Build, torch: TorchBuild | None, matrix: Matrix) -> list[Clash]:
    """What an installer refuses: musl, or a manylinux tag above the host's glibc, vLLM's own or torch's."""
    vllm = name_of(release, build)
    if target.musl:
        detail = Text("finding.no-wheel-for-platform.musl", {"vllm": vllm})
        return [Clash("no-wheel-for-platform", detail, "glibc", "musl")]
    if target.glibc is None:
        return []
    present = dotted(target.glibc)
    if build.glibc_tag and target.glibc < build.glibc_tag:
        really = build.glibc_needed is not None and target.glibc < build.glibc_needed
        code = "glibc-too-old" if really else "no-wheel-for-platform"
        params = {"vllm": vllm, "needed": dotted(build.glibc_tag), "present": present}
        return [Clash(code, Text(f"finding.{code}.tag", params), dotted(build.glibc_tag), present)]
    tag = matrix.torch_glibc(release.torch_pin, build.arch) if release.torch_pin and torch else None
    if tag and target.glibc < tag:
        params = {"vllm": vllm, "torch": release.torch_pin or "", "needed": dotted(tag), "present": present}
        return [Clash("glibc-too-old", Text("finding.glibc-too-old.torch", params), dotted(tag), present)]
    return []


def _libc(target: Target, release: Release, build: Build) -> list[Clash]:
    """What the binaries need, which may be more than their tag says: then the installer accepts and the import fails."""
    needed = build.glibc_needed
    if needed is None or target.glibc is None or target.glibc >= needed or (build.glibc_tag and target.glibc < build.glibc_tag):
        return []
    part = build.record.glibc_needed_by
    params = {"vllm": name_of(release, build), "needed": dotted(needed), "present": dotted(target.glibc), "part": part or ""}
    key = "finding.glibc-too-old.part" if part else "finding.glibc-too-old.detail"
    return [Clash("glibc-too-old", Text(key, params), dotted(needed), dotted(target.glibc), "warning" if part else "error")]


def python_clash(python: tuple[int, int] | None, release: Release) -> list[Clash]:
    """The interpreter against what the release takes."""
    if python is None or not release.python_minors:
        return []
    taken = [minor for minor in release.python_minors if not release.built_for or minor in release.built_for] or list(release.python_minors)
    wanted = f"{dotted(taken[0])}–{dotted(taken[-1])}"
    params = {"vllm": release.raw, "needed": wanted, "present": dotted(python)}
    if python not in release.python_minors:
        return [Clash("python-unsupported", Text("finding.python-unsupported.detail", params), wanted, dotted(python))]
    if python not in taken:
        return [Clash("python-unsupported", Text("finding.python-unsupported.untested", params), wanted, dotted(python), "warning")]
    return []


def _torch(target: Target, matrix: Matrix, release: Release, build: Build) -> tuple[TorchBuild | None, list[Clash]]:
    """The torch this wheel would run on, and the clash where that one has no code for a GPU."""
    pin = release.torch_pin or _newest_torch(matrix, release)
    if pin is None or build.cuda_major is None:
        return None, []
    paired = build.record.torch_variant or ""
    chosen, missing = _torch_for(matrix, pin, build.arch, build.cuda_major, paired, target.capabilities)
    if chosen is None or missing is None:
        return chosen, []
    code = ", ".join(map(str, chosen.gpu_code or ()))
    params = {"vllm": name_of(release, build), "torch": pin, "capability": str(missing), "code": code}
    return chosen, [Clash("gpu-arch-not-in-torch-build", Text("finding.gpu-arch-not-in-torch-build.detail", params), code, str(missing))]


@lru_cache(maxsize=256)
def _newest_torch(matrix: Matrix, release: Release) -> str | None:
    """The torch that an installer takes where the metadata names a range, within the bounds that a plan adds to it."""
    asked = release.required("torch")
    if asked is None:
        return None
    asked &= specifier(release.record.constraints.get("torch", ""))
    return next((torch.raw for torch in matrix.torch_releases if torch.version in asked), None)


@lru_cache(maxsize=8192)
def _torch_for(
    matrix: Matrix, pin: str, arch: str, major: int, paired: str, capabilities: tuple[ComputeCapability, ...]
) -> tuple[TorchBuild | None, ComputeCapability | None]:
    """The torch build a wheel takes, and the first compute capability it lacks code for.

    The variant it is `paired` with, else the index's, else a variant of the same CUDA major that has code for every GPU.
    """
    pinned = matrix.torch(pin)
    choices = [b for b in pinned.builds if b.arch == arch and b.cuda and b.cuda[0] == major] if pinned else []
    choices.sort(key=lambda choice: (choice.variant != paired, not choice.listed, choice.cuda or ()))
    for choice in choices:
        if all(choice.gpu_code is None or runs_code(matrix, capability, choice.gpu_code, choice.ptx) for capability in capabilities):
            return choice, None
    if not choices:
        return None, None
    best = choices[0]
    return best, next(c for c in capabilities if best.gpu_code is not None and not runs_code(matrix, c, best.gpu_code, best.ptx))
