"""NCCL as the target environment loads it: what vLLM is told by name, else what torch brings, else the system's."""

from __future__ import annotations

import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts
from envcheck.probes.libraries import name_version
from envcheck.probes.library_copies import Copy, Survey, Wanted, facts_of, survey
from envcheck.probes.look import Look
from envcheck.probes.packages import installed
from envcheck.probes.site_packages import literal
from envcheck.probes.torch import build, conda_build

FIELDS = ("nccl.version", "nccl.path", "nccl.copies", "nccl.linked_statically")
_SONAME = "libnccl.so.2"


def probe(look: Look) -> Facts:
    """All facts under `nccl`."""
    headers = ("/usr/include/nccl.h", "/usr/local/cuda/include/nccl.h")
    wanted = Wanted((_SONAME,), "nvidia-nccl-cu", "nccl", "nccl.h", parse_header, headers)
    seen = survey(look, wanted, tuple(_named(look)))
    return {**facts_of("nccl", seen, wanted), "nccl.linked_statically": linked_statically(look, seen)}


def _named(look: Look) -> list[Copy]:
    """The copy that `VLLM_NCCL_SO_PATH` names, and the one that the package of old vLLM releases put into the home folder."""
    path = look.env.get("VLLM_NCCL_SO_PATH", "")
    found = [(path, "VLLM_NCCL_SO_PATH", "system")] if path.startswith("/") and look.system.exists(path) else []
    packages, home = look.once(installed), look.env.get("HOME", "")
    if home.startswith("/") and isinstance(packages, Found) and any(name.startswith("vllm-nccl-") for name in packages.value):
        places = look.system.glob(f"{literal(home)}/.config/vllm/nccl/cu*/libnccl.so.2*", 4)
        found += [(place, place, "vendored") for place in places]
    return [Copy(place, _name_version(look, place), origin, _SONAME, source) for place, source, origin in found]


def _name_version(look: Look, path: str) -> str | None:
    real = look.system.resolve(path)
    return name_version(real.value) if isinstance(real, Found) else None


def linked_statically(look: Look, seen: Survey) -> Fact[bool]:
    """Whether torch carries its own: the builds of the project's conda channel do; those that bring a library do not."""
    told, record = look.once(build), look.once(conda_build)
    if isinstance(told, Absent):
        return told
    if isinstance(record, Found):
        return Found(True, record.value)
    if isinstance(told, Found) and told.value.stated and not told.value.cuda:
        return Absent("torch is a build without CUDA")
    brought = next((copy for copy in seen.copies if copy.origin in ("pip", "conda", "vendored")), None)
    return Found(False, brought.source) if brought else Unreadable("only torch's own libraries tell")


def parse_header(text: str) -> str | None:
    """`2.20.5` from the macros of `nccl.h`."""
    values = dict(re.findall(r"^#define NCCL_(MAJOR|MINOR|PATCH)\s+(\d{1,4})\b", text, re.MULTILINE))
    return f"{values['MAJOR']}.{values['MINOR']}.{values['PATCH']}" if len(values) == 3 else None
