"""Which GGUF file of a repository is meant, as vLLM finds it: `owner/name:QUANTIZATION`, or `owner/name/FILE.gguf`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from envcheck.errors import UsageError

_NAMED = re.compile(r"([^/:\s]+/[^/:\s]+)(?::([A-Za-z0-9_+-]{1,64})|/([^:]{1,255}\.gguf))")
_PART = re.compile(r"-\d{5}-of-\d{5}(?=\.gguf$)")
_QUANTIZATION = re.compile(r"[-.]((?:UD-)?(?:I?Q\d|TQ\d|F16|F32|BF16|MXFP4|NVFP4)\w*)$", re.IGNORECASE)
_NO_MODEL = ("mmproj", "imatrix")  # the projector of images, and what quantizers measured: beside models, and none themselves
_MOST_FILES = 4096
_SHOWN = 24


class GgufName(msgspec.Struct, frozen=True):
    """A repository, and the quantization or the file that is meant of it; neither = nobody said which."""

    repository: str
    quantization: str | None = None
    file: str | None = None


def gguf_name(name: str) -> GgufName | None:
    """The parts of a name that means a GGUF file on a hub; None for any other. That the repository's name is one is not looked at."""
    found = _NAMED.fullmatch(name)
    if not found or (found[3] and not _is_path(found[3])):
        return None
    return GgufName(found[1], found[2], found[3])


def chosen_file(name: GgufName, hub: str, files: Iterable[str]) -> str:
    """The file, the first part of a split one, among those of a repository; `hub` = how messages call where they lie.

    vLLM takes what ends in `-QUANTIZATION.gguf`, of several the name with the fewest dashes. Raises UsageError where none is meant, or
    several are alike.
    """
    models = sorted(file for file in files if _is_model(file))[:_MOST_FILES]
    told = {"name": name.repository, "hub": hub}
    if not models:
        raise UsageError("error.model-gguf-none", **told)
    firsts = _first_parts(models)
    if name.file is not None:
        if name.file in models:
            return name.file
        raise UsageError("error.model-gguf-file", **told, file=name.file, found=_listed(firsts))
    if name.quantization is None:
        kinds = quantizations(firsts)
        example = f"{name.repository}:{kinds[0]}" if kinds else f"{name.repository}/{firsts[0]}"
        raise UsageError("error.model-gguf-which", **told, found=_listed(kinds or firsts), example=example)
    fits = [file for file in firsts if _fits(file, name.quantization)]
    if not fits:
        raise UsageError("error.model-gguf-quant", **told, quant=name.quantization, found=_listed(firsts))
    fewest = min(file.count("-") for file in fits)
    alike = [file for file in fits if file.count("-") == fewest]
    if len(alike) > 1:
        raise UsageError(
            "error.model-gguf-several", **told, quant=name.quantization, found=_listed(alike), example=f"{name.repository}/{alike[0]}"
        )
    return alike[0]


def quantizations(files: Iterable[str]) -> list[str]:
    """What the names of files say of their quantization, each once."""
    found = [_QUANTIZATION.search(_PART.sub("", file).removesuffix(".gguf")) for file in files]
    return list(dict.fromkeys(match[1] for match in found if match))


def _fits(file: str, quantization: str) -> bool:
    return any(fnmatchcase(file, f"*-{quantization}{rest}") for rest in (".gguf", "-*.gguf"))


def _first_parts(files: Sequence[str]) -> list[str]:
    """Files that are whole, and the first part of each split one."""
    return [file for file in files if not (part := _PART.search(file)) or part[0].startswith("-00001-")] or list(files)


def _is_model(file: str) -> bool:
    return file.endswith(".gguf") and _is_path(file) and not file.rpartition("/")[2].startswith(_NO_MODEL)


def _is_path(file: str) -> bool:
    """Whether a name can only mean a file inside the repository."""
    parts = file.split("/")
    return len(file) <= 255 and file.isprintable() and "\\" not in file and all(part and not part.startswith(".") for part in parts)


def _listed(names: Sequence[str]) -> str:
    more = f" (+{len(names) - _SHOWN})" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
