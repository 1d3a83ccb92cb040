"""Where a Python installation keeps its packages and its standard library, by the layouts of CPython, Debian, the RPM family and conda."""

from __future__ import annotations

import posixpath

from envcheck.model.fact import Found
from envcheck.probes.look import Look

_PYTHONPATH = 16  # a hostile one may name thousands


def library_name(look: Look, prefix: str, real: str, minor: str | None, implementation: str) -> tuple[str, bool | None]:
    """(`python3.10`, whether without the global lock): such builds use `python3.13t`, PyPy `pypy3.10`; None = not known.

    `real` is the executable with links followed where its name tells, else "": then the folders of `prefix` do.
    """
    if implementation != "CPython":
        return f"{implementation.lower()}{minor or '3'}", False
    if minor is None:
        return "python3", None
    name = posixpath.basename(real)
    if name.startswith(f"python{minor}"):
        threaded = name.startswith(f"python{minor}t")
    else:
        folders = (f"{prefix}/lib/python{minor}t", f"{prefix}/lib64/python{minor}t")
        threaded = any(look.system.exists(folder) for folder in folders)
    return f"python{minor}{'t' if threaded else ''}", threaded


def environment_sites(prefix: str, name: str) -> tuple[str, ...]:
    """The folders of a virtual or conda environment; the RPM family has both."""
    return tuple(f"{prefix}/{lib}/{name}/site-packages" for lib in ("lib", "lib64"))


def system_sites(look: Look, prefix: str, name: str) -> tuple[str, ...]:
    """The user's packages, then the administrator's, then the distribution's; Debian and the RPM family name their folders differently."""
    local = "/usr/local" if prefix == "/usr" else prefix
    folders = (
        *user_sites(look, name),
        f"{local}/lib/{name}/dist-packages",
        f"{local}/lib/{name}/site-packages",
        f"{local}/lib64/{name}/site-packages",
        f"{prefix}/lib/python3/dist-packages",
        f"{prefix}/lib/{name}/site-packages",
        f"{prefix}/lib64/{name}/site-packages",
    )
    return tuple(dict.fromkeys(folders))


def user_sites(look: Look, name: str) -> tuple[str, ...]:
    """The user's own folder, which conda's interpreters search too; none where a variable turns it off."""
    base = look.env.get("PYTHONUSERBASE") or posixpath.join(look.env.get("HOME", ""), ".local")
    return () if look.env.get("PYTHONNOUSERSITE") or not base.startswith("/") else (f"{base}/lib/{name}/site-packages",)


def searched_first(look: Look) -> tuple[str, ...]:
    """The absolute folders of `PYTHONPATH`, which come before every other."""
    entries = look.env.get("PYTHONPATH", "")[:65536].split(":")
    return tuple(dict.fromkeys(entry.rstrip("/") or "/" for entry in entries if entry.startswith("/")))[:_PYTHONPATH]


def working_folder(look: Look) -> str | None:
    """Where this process was started; `python -m` searches it before everything else."""
    fact = look.system.resolve("/proc/self/cwd")
    folder = fact.value if isinstance(fact, Found) else look.env.get("PWD", "")
    return folder if folder.startswith("/") else None


def standard_library(look: Look, base: str, name: str) -> str | None:
    """The folder of the standard library, known by `os.py`, as the interpreter itself finds it."""
    folders = (f"{base}/{lib}/{name}" for lib in ("lib", "lib64"))
    return next((folder for folder in folders if look.system.exists(f"{folder}/os.py")), None)
