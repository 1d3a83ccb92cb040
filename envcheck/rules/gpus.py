"""Rules on the kinds of GPUs that are shown: other makers' cards, Jetson boards, virtual GPUs, modes that keep processes out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.places import where
from envcheck.rules.situation import GpuFact, Situation
from envcheck.rules.spread import planned, planned_gpus, spread_of

# Thor takes the wheels of ARM servers, so that the code they hold decides.
_BOARDS = ("jetson", "tegra", "orin", "xavier")
_JETSON = r"(?i)^(?!.*\bthor\b).*\b(jetson|tegra|orin|xavier)\b"
# The profile of a virtual GPU closes its name: `GRID A100D-40C`, `NVIDIA A40-48Q`, `NVIDIA H100-1-10C`.
_PROFILE = r"(?i)-\d{1,3}(Q|C|A|B)(?:ME)?$"


def kinds(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Other makers' cards listed as GPUs, and Jetson boards."""
    if situation.other_makers and not situation.gpus and not situation.gpus_known:
        yield error("non-nvidia-accelerator", names=", ".join(situation.other_makers[:4])[:200])
    jetson = [gpu for gpu in situation.usable_gpus if is_jetson(gpu)]
    if jetson:
        # A version that is no release of the index may be the board's own build.
        own = situation.installed is not None and not situation.installed.exact
        yield (warning if own else error)("jetson-needs-special-build", name=jetson[0].name)


def is_jetson(gpu: GpuFact) -> bool:
    """Whether its name is that of a Jetson module other than Thor."""
    return any(word in gpu.name.lower() for word in _BOARDS) and re.search(_JETSON, gpu.name) is not None


def virtual(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Virtual GPUs: a licence, a profile's memory, and no access to each other's."""
    for gpu in situation.usable_gpus:
        series = _series(gpu)
        if series is None:
            continue
        if series in ("A", "B"):
            yield warning("vgpu-limits", "profile", name=gpu.name, series=series, remedies=(remedy("hardware", "vgpu-profile"),))
        else:
            key = "several" if len(situation.usable_gpus) > 1 else "detail"
            yield warning("vgpu-limits", key, name=gpu.name, remedies=(remedy("setting", "vgpu-licence", "nvidia-smi -q | grep -i licen"),))
        return


def _series(gpu: GpuFact) -> str | None:
    """The letter of a virtual GPU's profile, "" where only the mode is known; None for a GPU that is not virtual."""
    # A MIG slice's name ends in its size, never in such a letter.
    profile = re.search(_PROFILE, gpu.name) if gpu.name[-1:].upper() in "QCABE" else None
    if profile:
        return profile[1].upper()
    return "" if known(gpu.told.virtualization) == "vgpu" else None


def compute_mode(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A compute mode that lets no process, or only one, use a GPU."""
    modes = [known(gpu.told.compute_mode) for gpu in situation.usable_gpus]
    if not any(mode and mode != "default" for mode in modes):
        return
    spread = spread_of(situation)
    for gpu, mode in zip(situation.usable_gpus, modes, strict=True):
        back = f"sudo nvidia-smi -i {gpu.index} -c DEFAULT" if gpu.index is not None else "sudo nvidia-smi -c DEFAULT"
        ways = (remedy("setting", "compute-mode", back, root=True),)
        if mode == "prohibited":
            whole = all(other == "prohibited" for other in modes)
            yield (error if whole else warning)("cuda-init-failed", "prohibited", gpu=where(gpu), remedies=ways)
        elif mode == "exclusive-process" and (holder := _holder(situation, gpu)):
            sure = planned(situation) and gpu in planned_gpus(situation, spread)
            yield (error if sure else warning)("cuda-init-failed", "exclusive", gpu=where(gpu), process=holder, remedies=ways)


def _holder(situation: Situation, gpu: GpuFact) -> str | None:
    """The name or number of a process that has a GPU."""
    for process in known(situation.host.processes) or ():
        if known(process.gpu) == gpu.index:
            return str(known(process.name) or known(process.pid) or "?")[:60]
    return None
