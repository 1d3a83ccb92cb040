"""GPU by name, as NVML, `nvidia-smi -L`, old drivers, vGPU guests and people spell it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from envcheck.matrix.records import GpuModel

_LONGEST = 128  # characters; NVML's own limit is 96
_BRANDS = ("nvidia ", "tesla ", "grid ", "quadro ", "geforce ")
_REMEMBERED = 4096  # names; hostile input must not fill memory


class GpuNames:
    """The index of names. A name matches whole, or as the longest known name it begins with at a word's end."""

    def __init__(self, gpus: tuple[GpuModel, ...]) -> None:
        self._gpus = gpus
        # The name that NVML gives is nearly always the one in the matrix: the full index is only made for the others.
        self._found: dict[str, GpuModel | None] = {gpu.name: gpu for gpu in gpus}

    def find(self, name: str) -> GpuModel | None:
        """The GPU of that name, None when it is not known."""
        if name not in self._found:
            if len(self._found) > _REMEMBERED:
                self._found.clear()
            self._found[name] = self._search(name)
        return self._found[name]

    @cached_property
    def _keys(self) -> dict[str, GpuModel]:
        keys: dict[str, GpuModel] = {}
        for gpu in self._gpus:
            for name in (gpu.name, *gpu.aliases):
                keys.setdefault(_plain(name), gpu)
        for key, gpu in list(keys.items()):
            for short in _without_brands(key):
                keys.setdefault(short, gpu)
        return keys

    def _search(self, name: str) -> GpuModel | None:
        plain = _without_mig(_plain(name[:_LONGEST]))
        for spelling in (plain, _spaced(plain)):
            found = self._whole(spelling) or self._beginning(spelling)
            if found is not None:
                return found
        return None

    def _whole(self, plain: str) -> GpuModel | None:
        return next((self._keys[name] for name in (plain, *_without_brands(plain)) if name in self._keys), None)

    def _beginning(self, plain: str) -> GpuModel | None:
        for name in (plain, *_without_brands(plain)):
            for end in range(len(name) - 1, 1, -1):
                if not name[end].isalnum() and name[:end] in self._keys:
                    return self._keys[name[:end]]
        return None


def any_word(words: Iterable[str]) -> re.Pattern[str]:
    """What finds one of the words in a name, whole and in any case; `#` in a word stands for a number. No words: finds nothing."""
    spellings = [r"\d+".join(map(re.escape, word.split("#"))) for word in words]
    return re.compile(rf"\b(?:{'|'.join(spellings)})\b" if spellings else r"(?!)", re.IGNORECASE)


def _plain(name: str) -> str:
    return " ".join(name.lower().split())


def _without_mig(plain: str) -> str:
    """`… (mig 2g.20gb)` and `… mig 1g.5gb` as their parent's name."""
    head, found, _ = plain.replace("(", " ").replace("/", " ").partition(" mig ")
    return " ".join(head.split()) if found else plain


def _spaced(plain: str) -> str:
    """The spaces that people leave out or write otherwise: `rtx4090`, `3090ti`, `4070super`, `a100_80gb`."""
    plain = re.sub(r"\b(rtx|gtx)(?=\d)", r"\1 ", plain.replace("_", " "))
    return re.sub(r"(\d\d\d0)(ti|super)\b", r"\1 \2", plain)


def _without_brands(plain: str) -> list[str]:
    """The name without its leading brand words, one after the other."""
    shorter = []
    while brand := next((brand for brand in _BRANDS if plain.startswith(brand)), None):
        plain = plain[len(brand) :]
        shorter.append(plain)
        if brand == "geforce " and plain.startswith("rtx "):  # "4090" is how people say it
            shorter.append(plain[4:])
    return shorter
