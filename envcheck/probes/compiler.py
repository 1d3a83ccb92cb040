"""The C compiler for run-time compilation: which one triton would call, and its version where file names tell it."""

from __future__ import annotations

import posixpath
import re

from envcheck.model.fact import Absent, Fact, Found
from envcheck.probes.look import Look
from envcheck.probes.site_packages import literal


def compiler(look: Look) -> Fact[str]:
    """`CC`, which is believed even where it is wrong, else gcc, cc or clang on PATH."""
    chosen = look.env.get("CC", "").split()
    for name in chosen[:1] or ("gcc", "cc", "clang"):
        path = (name if look.system.exists(name) else None) if name.startswith("/") else look.system.which(name)
        if path:
            return Found(_named(look, path), path)
    return Absent(f"CC names {chosen[0][:200]}, which is not there" if chosen else "no gcc, cc or clang on PATH")


def _named(look: Look, path: str) -> str:
    real = look.system.resolve(path)
    place = real.value if isinstance(real, Found) else path
    found = re.search(r"(gcc|clang)(?:-(\d+(?:\.\d+)*))?$", posixpath.basename(place))
    kind = found[1] if found else posixpath.basename(path)
    version = found[2] if found and found[2] else _gcc_folder(look, place) if kind == "gcc" else None
    return f"{kind} {version}" if version else kind


def _gcc_folder(look: Look, place: str) -> str | None:
    """The compiler keeps its own files under `lib/gcc/<target>/<version>` of where it is installed."""
    root = posixpath.dirname(posixpath.dirname(place)).rstrip("/") or "/usr"  # /bin is a link to /usr/bin, or was
    names = [posixpath.basename(path) for path in look.system.glob(f"{literal(root)}/lib/gcc/*/[0-9]*", 16)]
    versions = [name for name in names if re.fullmatch(r"\d{1,4}(\.\d{1,4}){0,3}", name)]
    return max(versions, key=lambda version: [int(part) for part in version.split(".")]) if versions else None
