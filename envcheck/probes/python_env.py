"""The target interpreter's facts: version, kind of environment, what pip may do there, C headers, and a compiler."""

from __future__ import annotations

import posixpath
import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.compiler import compiler
from envcheck.probes.facts import Facts, all_of
from envcheck.probes.interpreter import Interpreter, target
from envcheck.probes.look import Look
from envcheck.probes.python_folders import standard_library

FIELDS = (
    *("python.version", "python.executable", "python.environment", "python.headers", "python.prefix", "python.free_threaded"),
    *("python.externally_managed", "python.can_make_venv", "python.libstdcxx", "python.implementation", "python.bits"),
    "python.compiler",
)
_SCAN_LIMIT = 4 << 20  # bytes of libstdc++.so.6 looked through for symbol versions


def probe(look: Look) -> Facts:
    """All facts under `python`."""
    fact = look.once(target)
    if not isinstance(fact, Found):
        return {**all_of(FIELDS[:-1], fact), "python.compiler": compiler(look)}
    python = fact.value
    told = {"python.executable": python.executable, "python.environment": python.environment, "python.prefix": python.prefix}
    told["python.implementation"] = python.implementation
    bits = Found(python.bits, python.executable) if python.bits else Unreadable(f"{python.executable} does not tell")
    version: Fact[str] = Unreadable(f"{python.executable} does not say")
    if python.version:
        version = Found(python.version, fact.source, fact.tried)
    return {
        **{path: Found(value, fact.source, fact.tried) for path, value in told.items()},
        "python.version": version,
        "python.bits": bits,
        "python.headers": headers(look, python),
        "python.free_threaded": free_threaded(python),
        **_by_library(look, python),
        "python.libstdcxx": own_libstdcxx(look, python),
        "python.compiler": compiler(look),
    }


def headers(look: Look, python: Interpreter) -> Fact[bool]:
    """Whether `Python.h` of this interpreter is there."""
    if not python.minor:
        return Unreadable("the interpreter's version is not known")
    path = posixpath.join(python.base, "include", python.library, "Python.h")
    return Found(look.system.exists(path), path)


def free_threaded(python: Interpreter) -> Fact[bool]:
    """Whether it is a build without the global lock, for which few wheels exist."""
    if python.free_threaded is None:
        return Unreadable("the interpreter's version is not known")
    return Found(python.free_threaded, f"the name {python.library}")


def _by_library(look: Look, python: Interpreter) -> Facts:
    """What the standard library's folder tells: `EXTERNALLY-MANAGED` (PEP 668) and `ensurepip`, which Debian packs apart."""
    folder = standard_library(look, python.base, python.library)
    gap = Unreadable(f"no standard library under {python.base}/lib")
    marker = f"{folder}/EXTERNALLY-MANAGED"
    managed: Fact[bool] = Found(look.system.exists(marker), marker) if folder else gap
    if python.prefix != python.base:
        managed = Found(False, f"{python.prefix} is a virtual environment")
    pip = f"{folder}/ensurepip"
    return {"python.externally_managed": managed, "python.can_make_venv": Found(look.system.exists(pip), pip) if folder else gap}


def own_libstdcxx(look: Look, python: Interpreter) -> Fact[str]:
    """The highest `GLIBCXX_` symbol version of the environment's own libstdc++, by its real name as far as that tells."""
    path = f"{python.base}/lib/libstdc++.so.6"
    if python.base in ("/usr", "/usr/local") or not look.system.exists(path):
        return Absent("the environment has none of its own, so the system's is loaded")
    real = look.system.resolve(path)
    named = re.search(r"libstdc\+\+\.so\.6\.0\.(\d{1,3})$", real.value) if isinstance(real, Found) else None
    if named:
        return Found(f"GLIBCXX_3.4.{named[1]}", path)
    file = look.system.read(path, _SCAN_LIMIT)
    levels = re.findall(rb"GLIBCXX_3\.4\.(\d{1,3})\b", file.value) if isinstance(file, Found) else []
    return Found(f"GLIBCXX_3.4.{max(map(int, levels))}", path) if levels else Unreadable(f"{path} does not tell its symbol versions")
