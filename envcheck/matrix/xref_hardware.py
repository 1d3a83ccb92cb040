"""Cross-references of hardware: driver floors, branches, architectures, GPUs, makers of other accelerators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from envcheck.matrix.problem import Loaded, Problem
from envcheck.matrix.records import AcceleratorMaker, CudaFile, GpuModel
from envcheck.model.versions import compute_capability, driver_version, numbers

Found = Iterator[tuple[str, str]]


def hardware_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of cuda.json, gpus.json and makers.json, and of the architectures that builds name."""
    cuda: CudaFile = loaded.value("cuda.json")
    gpus: list[GpuModel] = loaded.value("gpus.json")
    for path, what in (*_of_drivers(cuda), *_of_branches(cuda, loaded.value("matrix.json").date), *_of_architectures(cuda)):
        yield loaded.problem("cuda.json", path, what)
    for path, what in (*_of_gpus(gpus, cuda), *_of_names(gpus)):
        yield loaded.problem("gpus.json", path, what)
    for path, what in _of_makers(loaded.value("makers.json")):
        yield loaded.problem("makers.json", path, what)
    known = {capability for entry in cuda.architectures for capability in entry.capabilities}
    for file, place, record in loaded.releases():
        for index, build in enumerate(record.builds):
            for capability in {*(build.gpu_code or []), *build.gpu_code_ptx} - known:
                yield loaded.problem(file, f"$[{place}].builds[{index}].gpu_code", f"{capability} belongs to no architecture of cuda.json")


def _of_drivers(cuda: CudaFile) -> Found:
    """A newer major needs a newer driver; so does a newer toolkit bundle one."""
    floors = [(entry.major, driver_version(entry.min_driver)) for entry in cuda.majors]
    yield from _rising("$.majors", floors)
    first = [entry for entry in cuda.toolkits if entry.update == "GA" and entry.bundled_driver]
    yield from _rising("$.toolkits", [(numbers(entry.cuda), driver_version(entry.bundled_driver or "")) for entry in first])
    for index, record in enumerate(cuda.ptx):
        if record.cuda not in {entry.cuda for entry in cuda.toolkits}:
            yield f"$.ptx[{index}]", f"CUDA {record.cuda} is not among the toolkits"


def _rising(path: str, pairs: Sequence[tuple[Any, Any]]) -> Found:
    """Both sides known and strictly rising together."""
    yield from ((f"{path}[{index}]", "no version") for index, pair in enumerate(pairs) if None in pair)
    for index, ((low, driver), (high, newer)) in enumerate(pairwise(pairs), start=1):
        if None not in (low, driver, high, newer) and not (low < high and driver < newer):
            yield f"{path}[{index}]", "out of order"


def _of_branches(cuda: CudaFile, today: str) -> Found:
    shown = [(entry.branch, numbers(entry.max_cuda)) for entry in cuda.branches if entry.max_cuda]
    yield from _rising("$.branches", shown)
    for index, entry in enumerate(cuda.branches):
        if entry.end_of_life is None:
            continue
        if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", entry.end_of_life):
            yield f"$.branches[{index}].end_of_life", f"`{entry.end_of_life}` is no month"
        elif entry.ended != (entry.end_of_life < today[:7]):
            yield f"$.branches[{index}].ended", f"{entry.ended} with its end in {entry.end_of_life}, today {today}"


def _of_architectures(cuda: CudaFile) -> Found:
    branches = {entry.branch for entry in cuda.branches}
    seen: set[str] = set()
    for index, entry in enumerate(cuda.architectures):
        for capability in entry.capabilities:
            if compute_capability(capability) is None or capability in seen:
                yield f"$.architectures[{index}]", f"{capability} is no compute capability, or stands here twice"
            seen.add(capability)
        if entry.last_branch is not None and entry.last_branch not in branches:
            yield f"$.architectures[{index}].last_branch", f"there is no branch {entry.last_branch}"


def _of_gpus(gpus: list[GpuModel], cuda: CudaFile) -> Found:
    architectures = {capability: entry for entry in cuda.architectures for capability in entry.capabilities}
    for index, gpu in enumerate(gpus):
        known = architectures.get(gpu.compute_capability)
        if known is None or known.architecture != gpu.architecture:
            yield f"$[{index}]", f"{gpu.compute_capability} is not {gpu.architecture} in cuda.json"
        elif gpu.kind != "soc" and gpu.last_branch != known.last_branch:
            yield f"$[{index}].last_branch", f"{gpu.last_branch}, but {known.last_branch} for its architecture"
        if gpu.memory_mib is not None and not 1000 < gpu.memory_mib < 400_000:
            yield f"$[{index}].memory_mib", f"{gpu.memory_mib} MiB"
        for branch, driver in gpu.first_driver.items():
            parsed = driver_version(driver)
            if parsed is None or str(parsed.branch) != branch:
                yield f"$[{index}].first_driver.{branch}", f"{driver} is not of that branch"
        yield from ((f"$[{index}].pci_ids", f"`{device}`") for device in gpu.pci_ids if not re.fullmatch(r"[0-9a-f]{4}", device))


def _of_names(gpus: list[GpuModel]) -> Found:
    """One spelling may mean one GPU only."""
    owner: dict[str, str] = {}
    for index, gpu in enumerate(gpus):
        for name in {" ".join(spelling.lower().split()) for spelling in (gpu.name, *gpu.aliases)}:
            if owner.setdefault(name, gpu.name) != gpu.name:
                yield f"$[{index}]", f"`{name}` is {owner[name]} too"


def _of_makers(makers: list[AcceleratorMaker]) -> Found:
    """A vendor id is one maker's; words begin and end as words do, or their boundaries would never be found."""
    owner: dict[str, str] = {}
    for index, maker in enumerate(makers):
        vendor = maker.pci_vendor
        if vendor is not None and (not re.fullmatch(r"[0-9a-f]{4}", vendor) or owner.setdefault(vendor, maker.id) != maker.id):
            yield f"$[{index}].pci_vendor", f"`{vendor}` is no vendor id, or another maker's too"
        if (maker.classes or maker.devices) and vendor is None:
            yield f"$[{index}].pci_vendor", "no vendor to look for"
        ids = (*maker.devices, *maker.classes)
        yield from (
            (f"$[{index}]", f"`{number}` is no device id and no class") for number in ids if not re.fullmatch(r"[0-9a-f]{4}", number)
        )
        # The nodes are looked up among the names in /dev itself.
        wrong_nodes = (node for node in maker.nodes if not re.fullmatch(r"/dev/[^/#*?\[]+#?", node))
        yield from ((f"$[{index}].nodes", f"`{node}` is no device node") for node in wrong_nodes)
        if not maker.words:
            yield f"$[{index}].words", "no word"
        wrong = (
            word for word in maker.words if not re.fullmatch(r"[A-Za-z0-9#]+([ -][A-Za-z0-9#]+)*", word) or not re.search("[A-Za-z]", word)
        )
        yield from ((f"$[{index}].words", f"`{word}` is no word") for word in wrong)
