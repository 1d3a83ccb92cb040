"""The target interpreter's facts: version, kind of environment, C headers, and a compiler for run-time compilation."""

from __future__ import annotations

import posixpath
import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.interpreter import Interpreter, target
from envcheck.probes.look import Look

FIELDS = ("python.version", "python.executable", "python.environment", "python.headers", "python.compiler")


def probe(look: Look) -> Facts:
    """All facts under `python`."""
    fact = look.once(target)
    if not isinstance(fact, Found):
        return {**all_of(FIELDS[:4], fact), "python.compiler": compiler(look)}
    python = fact.value
    return {
        "python.version": Found(python.version, fact.source) if python.version else Unreadable(f"{python.executable} does not say"),
        "python.executable": Found(python.executable, fact.source),
        "python.environment": Found(python.environment, fact.source),
        "python.headers": headers(look, python),
        "python.compiler": compiler(look),
    }


def headers(look: Look, python: Interpreter) -> Fact[bool]:
    """Whether `Python.h` of this interpreter is there."""
    if not python.minor:
        return Unreadable("the interpreter's version is not known")
    path = posixpath.join(python.base, "include", f"python{python.minor}", "Python.h")
    return Found(look.system.exists(path), path)


def compiler(look: Look) -> Fact[str]:
    """The C compiler that triton would call: `CC`, else gcc, cc or clang on PATH, with its version where a file name tells it."""
    chosen = look.env.get("CC", "").split()
    for name in (*chosen[:1], "gcc", "cc", "clang"):
        path = name if name.startswith("/") and look.system.exists(name) else look.system.which(name)
        if path:
            return Found(_named(look, path), path)
    return Absent("no gcc, cc or clang on PATH")


def _named(look: Look, path: str) -> str:
    real = look.system.resolve(path)
    name = posixpath.basename(real.value if isinstance(real, Found) else path)
    found = re.search(r"(gcc|clang)(?:-(\d+(?:\.\d+)*))?$", name)
    kind = found[1] if found else posixpath.basename(path)
    version = found[2] if found and found[2] else _gcc_folder(look) if kind == "gcc" else None
    return f"{kind} {version}" if version else kind


def _gcc_folder(look: Look) -> str | None:
    """The compiler keeps its own files under `/usr/lib/gcc/<target>/<version>`."""
    names = [posixpath.basename(path) for path in look.system.glob("/usr/lib/gcc/*/[0-9]*", 16)]
    versions = [name for name in names if re.fullmatch(r"\d+(\.\d+)*", name)]
    return max(versions, key=lambda version: [int(part) for part in version.split(".")]) if versions else None
