"""GPU by name, as NVML, `nvidia-smi -L`, old drivers, vGPU guests and people spell it."""

from __future__ import annotations

import re

from envcheck.matrix.records import GpuModel

_LONGEST = 128  # characters; NVML's own limit is 96
_BRANDS = ("nvidia ", "tesla ", "grid ", "quadro ", "geforce ")
_MIG = re.compile(r"\s*[(/]?\s*\bmig\b.*$")
_GLUED = re.compile(r"(?<=rtx)(?=\d)|(?<=gtx)(?=\d)|(?<=\d\d\d0)(?=ti\b|super\b)")


class GpuNames:
    """The index of names. A name matches whole, or as the longest known name it begins with at a word's end."""

    def __init__(self, gpus: tuple[GpuModel, ...]) -> None:
        self._keys: dict[str, GpuModel] = {}
        for gpu in gpus:
            for name in (gpu.name, *gpu.aliases):
                self._keys.setdefault(_plain(name), gpu)
        for key, gpu in list(self._keys.items()):
            for short in _without_brands(key):
                self._keys.setdefault(short, gpu)
        self._found: dict[str, GpuModel | None] = {}

    def find(self, name: str) -> GpuModel | None:
        """The GPU of that name, None when it is not known."""
        if name not in self._found:
            if len(self._found) > 4096:  # hostile input must not fill memory
                self._found.clear()
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> GpuModel | None:
        plain = _MIG.sub("", _plain(name[:_LONGEST]))
        for candidate in (plain, *_without_brands(plain)):
            if candidate in self._keys:
                return self._keys[candidate]
        for candidate in (plain, *_without_brands(plain)):
            for end in range(len(candidate) - 1, 1, -1):
                if not candidate[end].isalnum() and candidate[:end] in self._keys:
                    return self._keys[candidate[:end]]
        return None


def _plain(name: str) -> str:
    """Lower case, single spaces, and the spaces people leave out: `RTX4090`, `3090Ti`, `4070Super`."""
    spaced = _GLUED.sub(" ", name.lower().replace("_", " "))
    return " ".join(spaced.split())


def _without_brands(plain: str) -> list[str]:
    """The name without its leading brand words, one after the other."""
    shorter = []
    while brand := next((brand for brand in _BRANDS if plain.startswith(brand)), None):
        plain = plain[len(brand) :]
        shorter.append(plain)
        if brand == "geforce " and plain.startswith("rtx "):  # "4090" is how people say it
            shorter.append(plain[4:])
    return shorter
