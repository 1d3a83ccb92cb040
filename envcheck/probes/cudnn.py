"""cuDNN as the target environment loads it: the pip package that torch brings, else the system's libraries or headers."""

from __future__ import annotations

import posixpath
import re

from envcheck.model.fact import Found
from envcheck.probes.facts import Facts
from envcheck.probes.library_copies import Copy, Wanted, facts_of, survey
from envcheck.probes.look import Look
from envcheck.probes.torch import conda_build

FIELDS = ("cudnn.version", "cudnn.path", "cudnn.copies")


def probe(look: Look) -> Facts:
    """All facts under `cudnn`."""
    wanted = _wanted()
    seen = survey(look, wanted, _built_in(look))
    return {**facts_of("cudnn", seen, wanted)}


def _wanted() -> Wanted:
    folders = ("/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu", "/usr/local/cuda/include")
    headers = tuple(posixpath.join(folder, "cudnn_version.h") for folder in folders)
    return Wanted(("libcudnn.so.9", "libcudnn.so.8"), "nvidia-cudnn-cu", "cudnn", "cudnn_version.h", parse_header, headers)


def _built_in(look: Look) -> tuple[Copy, ...]:
    """The builds of the project's own conda channel carry cuDNN inside and name its version."""
    record = look.once(conda_build)
    found = re.search(r"_cudnn(\d+(?:\.\d+)+)", record.value) if isinstance(record, Found) else None
    return (Copy(record.value, found[1], "vendored", "", record.value),) if found and isinstance(record, Found) else ()


def parse_header(text: str) -> str | None:
    """`8.9.7` from the three macros of `cudnn_version.h`."""
    values = dict(re.findall(r"^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d{1,4})\b", text, re.MULTILINE))
    return f"{values['MAJOR']}.{values['MINOR']}.{values['PATCHLEVEL']}" if len(values) == 3 else None
