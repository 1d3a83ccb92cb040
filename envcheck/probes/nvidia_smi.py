"""The banner of `nvidia-smi`: the last resort, for it starts a process that talks to every GPU."""

from __future__ import annotations

import re

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.look import Look, nvml

_UNLOADABLE = frozenset({"LibraryNotFound", "BindingMissing", "BindingBroken", "ForkFailed", "Crashed"})


class Banner(msgspec.Struct, frozen=True):
    """Driver release and the CUDA release it shows; None where the banner does not say (`CUDA Version: N/A`, drivers before R410)."""

    driver: str
    cuda: str | None


def parse_banner(text: str) -> Banner | None:
    """The banner of any driver generation; None where there is none."""
    head = text[:4096]
    # Up to R590 `Driver Version` and `CUDA Version` (the latter from R410 on), from R610 `KMD Version` and `CUDA UMD Version`.
    driver = re.search(r"\b(?:Driver|KMD) Version:\s*(\d{2,4}\.\d+(?:\.\d+)*)", head)
    cuda = re.search(r"\bCUDA (?:UMD )?Version:\s*(\d{1,3}\.\d{1,2})\b", head)
    return Banner(driver[1], cuda[1] if cuda else None) if driver else None


def banner(look: Look) -> Fact[Banner]:
    """What `nvidia-smi` says; asked only when NVML could not be loaded, for where NVML hangs or fails so does this command."""
    if look.once(nvml).status not in _UNLOADABLE:
        return Absent("NVML was asked instead")
    path = look.system.which("nvidia-smi")
    if path is None:
        return Absent("no nvidia-smi on PATH")
    answer = look.system.run(("nvidia-smi",))
    if not isinstance(answer, Found):
        return answer
    parsed = parse_banner(answer.value.stdout) if answer.value.status == 0 else None
    if parsed:
        return Found(parsed, path)
    said = (answer.value.stdout.strip() or answer.value.stderr.strip()).partition("\n")[0][:120]
    return Unreadable(f"{path} ended with {answer.value.status}: {said}")
