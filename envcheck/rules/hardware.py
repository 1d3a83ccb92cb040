"""Rules on the GPUs that are shown: of a maker and kind that CUDA wheels serve, alike, healthy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.model.versions import compute_capability
from envcheck.rules.make import error, info, remedy, warning
from envcheck.rules.situation import GpuFact, Situation, only_visible, part, text

_JETSON = r"(?i)\b(jetson|tegra|orin|xavier)\b"


def faults(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs that do not answer among those that do."""
    bad = [gpu for gpu in situation.gpus if gpu.error is not None]
    if not bad:
        return
    names = ", ".join(f"{_place(gpu)}: {gpu.error}" for gpu in bad)[:300]
    make = error if len(bad) == len(situation.gpus) else warning
    yield make(
        "gpu-fault", "some", count=len(bad), total=len(situation.gpus), names=names, remedies=(remedy("reboot", "reset-gpu", root=True),)
    )


def _place(gpu: GpuFact) -> str:
    return f"GPU {gpu.index}" if gpu.index is not None else gpu.name


def kinds(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Other makers' cards listed as GPUs, Jetson boards, different GPUs together."""
    if situation.other_makers and not situation.gpus and not situation.gpus_known:
        yield error("non-nvidia-accelerator", names=", ".join(situation.other_makers[:4])[:200])
    jetson = [gpu for gpu in situation.usable_gpus if re.search(_JETSON, gpu.name)]
    if jetson:
        # A version that is no release of the index may be the board's own build.
        own = situation.installed is not None and not situation.installed.exact
        yield (warning if own else error)("jetson-needs-special-build", name=jetson[0].name)
    usable = situation.usable_gpus
    names = tuple(dict.fromkeys(gpu.name for gpu in usable))
    if len(usable) > 1 and len(names) > 1:
        listed = ", ".join(names[:6])[:300]
        apart = len(situation.capabilities) > 1
        yield warning(
            "mixed-gpus", "generations" if apart else "detail", names=listed, remedies=tuple(_of_one_name(situation, matrix, names))
        )


def _of_one_name(situation: Situation, matrix: Matrix, names: tuple[str, ...]) -> Iterator[Remedy]:
    """The GPUs of each name by themselves, most memory first; not those that no release has ever served."""
    floors = [floor for entry in matrix.engines if (floor := compute_capability(entry.v0_min_capability or ""))]
    served = [gpu for gpu in situation.usable_gpus if gpu.capability is None or not floors or gpu.capability >= min(floors)]
    groups = [group for name in names if (group := [gpu for gpu in served if gpu.name == name])]
    groups.sort(key=lambda group: -sum(gpu.memory_mib or 0 for gpu in group))
    for group in groups[:3]:
        yield remedy("setting", "visible-devices", only_visible(situation, group), name=group[0].name)


def fabric(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """An NVSwitch host whose fabric is not up: CUDA fails with error 802 while NVML looks healthy."""
    host = situation.host
    switch = part(host.fabric, "nvswitch")
    board = len(situation.usable_gpus) > 1 and all(gpu.model is not None and gpu.model.nvswitch_board for gpu in situation.usable_gpus)
    if switch is False or (switch is None and not board):
        return
    manager, state = text(host.fabric, "manager"), text(host.fabric, "state")
    if state == "completed" or (manager == "running" and state in ("", "unsupported")):
        return
    start = remedy("service", "start-fabric-manager", "sudo systemctl enable --now nvidia-fabricmanager", root=True)
    down, failed = manager in ("stopped", "absent"), state.startswith("failed")
    if down or failed or state in ("not-started", "in-progress"):
        key = "service" if down else "progress" if state == "in-progress" else "detail"
        # Inside a container the host's service cannot be seen, so its absence there proves nothing.
        sure = failed or state in ("not-started", "in-progress") or not text(host.container, "kind")
        yield (error if sure else warning)("fabric-manager-not-ready", key, remedies=(start,), manager=manager, state=state)


def mig(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """MIG slices: releases that cannot parse their identifiers, and memory that is the slice's, not the card's."""
    slices = [gpu for gpu in situation.usable_gpus if gpu.mig]
    if not slices:
        return
    environment = known(situation.host.environment) or {}
    chosen = environment.get("CUDA_VISIBLE_DEVICES", "")
    release = situation.installed.release if situation.installed else None
    by_id = re.match(r"\s*(MIG-|GPU-)", chosen) is not None or not chosen
    if release and by_id and matrix.traits.shown_by("device-uuid-not-parsed", release.version):
        yield warning("mig-device-selection", name=slices[0].name, vllm=situation.installed_raw[:60])
    else:
        yield info("mig-memory", name=slices[0].name)


def bfloat16(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """GPUs without bfloat16: most checkpoints are stored in it, so vLLM refuses them unless told `--dtype half`."""
    floor = matrix.capability_trait("bfloat16-min-capability")
    below = [capability for capability in situation.capabilities if floor and capability < floor]
    request = situation.request
    stated = str(
        request.serve_args.get("dtype")
        or (request.model_config or {}).get("torch_dtype")
        or (request.model_config or {}).get("dtype")
        or ""
    )
    if below and floor and stated not in ("half", "float16", "float32", "float"):
        yield warning("bf16-unsupported-gpu", capability=str(below[0]), needed=str(floor), remedies=(remedy("setting", "dtype-half"),))


def system_memory(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """System RAM, or the container's limit, below twice the GPU memory: loading may crawl or be killed."""
    memory = situation.host.memory
    sizes = [size for size in (part(memory, "ram_mib"), part(memory, "cgroup_limit_mib")) if isinstance(size, int | float) and size > 0]
    gpu_mib = max((gpu.memory_mib for gpu in situation.usable_gpus if gpu.memory_mib), default=0)
    if sizes and gpu_mib and min(sizes) < 2 * gpu_mib:
        yield info("host-memory-too-small", ram_gib=round(min(sizes) / 1024, 1), gpu_gib=round(gpu_mib / 1024, 1))
