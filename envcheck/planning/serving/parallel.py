"""What to know of the GPUs that a server is spread over: the links between them, those that stay free, how experts are dealt out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.host import known
from envcheck.model.text import Text
from envcheck.rules.situation import GpuFact, Situation
from envcheck.sizing.fields import integer

_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


class Layout(msgspec.Struct, frozen=True):
    """Ranks of the planned command."""

    tensor: int
    pipeline: int
    data: int

    @property
    def gpus(self) -> int:
        """GPUs that it takes."""
        return self.tensor * self.pipeline * self.data


def layout_of(arguments: Mapping[str, Any]) -> Layout:
    """The ranks that arguments in snake case ask for; 1 where they say nothing."""
    tensor, pipeline, data = (integer(arguments, name, most=4096) or 1 for name in _SIZES)
    return Layout(tensor, pipeline, data)


def parallel_notes(situation: Situation, matrix: Matrix, release: Release, arguments: Mapping[str, Any], *, asked: bool) -> Iterator[Text]:
    """Notes on the layout of the planned arguments; `asked` = the user chose it, and is told nothing of free GPUs."""
    layout, gpus = layout_of(arguments), situation.usable_gpus
    if layout.tensor > 1 and layout.gpus <= len(gpus) and _linked(situation, gpus[: layout.gpus]) is False:
        yield Text("serve.note.pcie", {"ranks": layout.tensor})
    free, copies = len(gpus) - layout.gpus, len(gpus) // layout.gpus
    flag = matrix.flags.of_dest("data_parallel_size", release.version)
    if asked or free <= 0 or _different(gpus):
        return
    told = {"free": free, "count": len(gpus), "copies": copies}
    if copies > 1 and flag is not None:
        yield Text("serve.note.copies", told)
    elif copies > 1:
        yield Text("serve.note.copies-apart", {**told, "vllm": release.raw})
    else:
        yield Text("serve.note.free-gpus", told)


def _linked(situation: Situation, gpus: tuple[GpuFact, ...]) -> bool | None:
    """Whether NVLink joins the GPUs; None where that is not known of all of them."""
    pairs = known(situation.host.topology) or []
    links = {known(pair.link) for pair in pairs}
    if links - {None}:
        return "nvlink" in links
    told = [known(gpu.told.nvlink) for gpu in gpus]
    return None if None in told or not told else all(told)


def _different(gpus: tuple[GpuFact, ...]) -> bool:
    return len({(gpu.name, gpu.memory_mib) for gpu in gpus}) > 1
