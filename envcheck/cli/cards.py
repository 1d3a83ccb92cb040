"""`--gpu 'NVIDIA A10 x2'` as a host that has nothing but these GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import UNSET

from envcheck.errors import UsageError
from envcheck.model.host import Gpu, HostReport

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.matrix.records import GpuModel

# The x of a number is small and touches the number or stands alone: `GTX 1080` and `rtx 4090` are names.
_COUNTED = re.compile(r"(?:(?P<before>\d{1,3})\s*x\s+)?(?P<name>.+?)(?:(?:\s+[x×*]\s*|[x×*])(?P<after>\d{1,3}))?")
_MOST = 64
_EVERY = frozenset({"nvidia", "geforce", "tesla", "quadro", "rtx", "gpu", "graphics", "card", "pcie", "sxm", "gb"})  # words of any name
_WITH_ECC = 0.93  # of the memory that is sold, NVML shows so much where error correction takes its part


def host_of_cards(text: str, matrix: Matrix) -> HostReport:
    """A host report with the GPUs named. Raises UsageError for a GPU that the matrix does not know, or an impossible number."""
    found = _COUNTED.fullmatch(text.strip()[:200])
    count = int(found["before"] or found["after"] or 1) if found else 1
    name = found["name"] if found else text.strip()[:200]
    if not 1 <= count <= _MOST or re.search(r"\s[x×*]\s*[-+.\d]*$", name):
        raise UsageError("error.gpu-count", text=text[:100], most=_MOST)
    model = _found(name, matrix)
    if model is None:
        near = _near(name, matrix)
        if not near:
            raise UsageError("error.gpu-unknown-none", name=name[:100])
        raise UsageError("error.gpu-unknown", name=name[:100], near=", ".join(near))
    return HostReport(gpus=[_gpu(model, index) for index in range(count)])


def _found(name: str, matrix: Matrix) -> GpuModel | None:
    """The card of a name, also as people shorten it: `RTX 4090 laptop`, `4090D`."""
    for spelling in (name, f"{name} GPU", re.sub(r"(?<=\d)(D|Ti|SUPER)\b", r" \1", name, flags=re.IGNORECASE)):
        model = matrix.gpu(spelling)
        if model is not None and _wholly(spelling, model):
            return model
    return None


def _wholly(name: str, model: GpuModel) -> bool:
    """Whether nothing of the text is left over: `RTX 4090 laptop`, a MIG slice or a mistyped number is another card than the one found."""
    words = set(re.findall(r"[a-z0-9.]+|[^\sa-z0-9.()_-]", name.lower()))
    known = set(re.findall(r"[a-z0-9.]+", model.name.lower())) | _EVERY
    return all(word in known or word.removesuffix("gb") in known or _run_together(word, known) for word in words)


def _run_together(word: str, known: set[str]) -> bool:
    """Whether a word is known ones written as one: `rtx4090`, `a100-80g`."""
    return any(word == first + second for first in known for second in known if first != second) or f"{word}b" in known


def shown_mib(model: GpuModel) -> int | None:
    """MiB as NVML shows them; of a card that nobody measured, what is sold, less what error correction may take."""
    return model.memory_mib or int((model.memory_gb or 0) * 1024 * _WITH_ECC) or None


def _gpu(model: GpuModel, index: int) -> Gpu:
    return Gpu(
        index=index,
        name=model.name,
        compute_capability=model.compute_capability,
        memory_mib=float(memory) if (memory := shown_mib(model)) else UNSET,
        unified_memory=model.unified_memory,
    )


def _near(name: str, matrix: Matrix) -> list[str]:
    from difflib import get_close_matches

    names = {gpu.name.lower(): gpu.name for gpu in matrix.gpus}
    return [names[near] for near in get_close_matches(name.lower(), names, 3, cutoff=0.5)]
