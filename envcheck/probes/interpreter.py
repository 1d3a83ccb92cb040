"""The target interpreter, its environment, and where its packages lie: read from files; it is started only where they do not say."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import first_found
from envcheck.probes.look import Look
from envcheck.probes.python_folders import environment_sites, library_name, searched_first, system_sites, user_sites

_ASK = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
_IMPLEMENTATIONS = {"pypy": "PyPy", "graalpy": "GraalPy"}


class Interpreter(msgspec.Struct, frozen=True):
    """`prefix` holds the environment, `base` the installation beneath; `version` `X.Y.Z` or only `X.Y`; `sites` in import order.

    `library` is the name of its folders (`python3.10`); `free_threaded` None = not known; `bits` None = its file does not tell.
    """

    executable: str
    prefix: str
    base: str
    version: str | None
    environment: str
    sites: tuple[str, ...]
    library: str = "python3"
    free_threaded: bool | None = None
    implementation: str = "CPython"
    bits: int | None = None

    @property
    def minor(self) -> str | None:
        """`X.Y`."""
        return _minor(self.version)


def target(look: Look) -> Fact[Interpreter]:
    """`--python`, else the active environment, else `python3` on PATH, else the interpreter running us."""
    return first_found(_candidates(look))


def _candidates(look: Look) -> Iterator[Fact[Interpreter]]:
    if look.python is not None:
        path = given(look, look.python)
        yield Found(_describe(look, path), "--python") if path else Unreadable(f"--python {look.python}: no such interpreter")
        return
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = look.env.get(variable, "")
        if prefix.startswith("/"):
            yield _at(look, posixpath.join(prefix, "bin/python"), variable)
    on_path = look.system.which("python3")
    yield _at(look, on_path, "python3 on PATH") if on_path else Absent("no python3 on PATH")
    if look.own:
        yield _at(look, look.own.executable, "this interpreter")


def _at(look: Look, path: str, source: str) -> Fact[Interpreter]:
    if look.system.exists(path):
        return Found(_describe(look, path), source)
    # A link that leads nowhere: the interpreter beneath the environment was removed.
    broken = look.system.exists(posixpath.join(posixpath.dirname(posixpath.dirname(path)), "pyvenv.cfg"))
    return Absent(f"{source}: {path} {'is broken: the interpreter it was made from is gone' if broken else 'is not there'}")


def given(look: Look, name: str) -> str | None:
    """The interpreter meant by a path, an environment's folder, or a name on PATH; None where there is none."""
    if "/" not in name:
        return look.system.which(name)
    inside = posixpath.join(name, "bin/python")
    if look.system.exists(inside):
        return inside
    return name if look.system.exists(name) else None


def parse_pyvenv(text: str) -> dict[str, str]:
    """The settings of a `pyvenv.cfg`."""
    pairs = (line.partition("=") for line in text.splitlines()[:100])
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def path_version(path: str) -> str | None:
    """The version in an interpreter's real path: `/usr/bin/python3.10` → `3.10`, `…/cpython-3.12.8-linux…/bin/python3.12` → `3.12.8`."""
    minor = re.search(r"/(?:python|pypy|graalpy)(3\.\d{1,2})t?$", path)
    full = re.search(r"/(?:cpython-)?(3\.\d{1,2}\.\d{1,2})(?:[-+][^/]*)?/bin/python[\d.]*t?$", path)
    if full and (not minor or full[1].startswith(minor[1] + ".")):
        return full[1]
    return minor[1] if minor else None


def implementation_of(path: str, stated: str = "") -> str:
    """The implementation that a `pyvenv.cfg` states or an executable's name tells."""
    name = posixpath.basename(path).lower()
    found = next((label for word, label in _IMPLEMENTATIONS.items() if name.startswith(word) or stated.lower() == word), None)
    return found or "CPython"


def elf_bits(head: bytes) -> int | None:
    """32 or 64 by the fifth byte of an ELF file."""
    return {1: 32, 2: 64}.get(head[4]) if head[:4] == b"\x7fELF" and len(head) > 4 else None


def _minor(version: str | None) -> str | None:
    return ".".join(version.split(".")[:2]) if version else None


def _describe(look: Look, path: str) -> Interpreter:
    prefix = posixpath.dirname(posixpath.dirname(path))
    settings = look.text(posixpath.join(prefix, "pyvenv.cfg"))
    if isinstance(settings, Found):
        return _virtual(look, path, prefix, parse_pyvenv(settings.value))
    if look.system.exists(posixpath.join(prefix, "conda-meta/history")):
        kind = "pixi" if "/.pixi/envs/" in prefix else "conda"
        return _installed(look, path, prefix, _conda_version(look, prefix), kind)
    real_path = _behind_shim(look, path)
    real = look.system.resolve(real_path)
    where = real.value if isinstance(real, Found) else real_path
    kind = "uv" if "/uv/python/" in where else "system"
    return _installed(look, where, posixpath.dirname(posixpath.dirname(where)), path_version(where), kind, shown=path)


def _virtual(look: Look, path: str, prefix: str, settings: dict[str, str]) -> Interpreter:
    home = settings.get("home", "")
    base = posixpath.dirname(home.rstrip("/")) if home.startswith("/") else prefix
    numbers = re.match(r"\d+\.\d+(?:\.\d+)?", settings.get("version_info") or settings.get("version") or "")
    version = numbers[0] if numbers else _own_version(look, prefix) or _ask(look, path)
    made_by = "uv" if "uv" in settings else "poetry" if "/pypoetry/virtualenvs/" in prefix else "venv"
    kind = implementation_of(path, settings.get("implementation", ""))
    name, threaded = library_name(look, prefix, "", _minor(version), kind)
    sites = environment_sites(prefix, name)
    if settings.get("include-system-site-packages", "").lower() == "true":
        sites += system_sites(look, base, name)
    return Interpreter(path, prefix, base, version, made_by, _ordered(look, sites), name, threaded, kind, _bits(look, path))


def _installed(look: Look, path: str, prefix: str, version: str | None, kind: str, shown: str = "") -> Interpreter:
    found = _own_version(look, prefix) or version or _ask(look, shown or path)
    make = implementation_of(path)
    in_conda = kind in ("conda", "pixi")
    name, threaded = library_name(look, prefix, "" if in_conda else path, _minor(found), make)
    sites = (*user_sites(look, name), *environment_sites(prefix, name)) if in_conda else system_sites(look, prefix, name)
    return Interpreter(shown or path, prefix, prefix, found, kind, _ordered(look, sites), name, threaded, make, _bits(look, path))


def _ordered(look: Look, sites: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*searched_first(look), *sites)))


def _bits(look: Look, path: str) -> int | None:
    head = look.system.read(path, 20)
    return elf_bits(head.value) if isinstance(head, Found) else None


def _own_version(look: Look, prefix: str) -> str | None:
    return look.own.version if look.own and prefix in (look.own.prefix, look.own.base_prefix) else None


def _conda_version(look: Look, prefix: str) -> str | None:
    for record in look.system.glob(posixpath.join(prefix, "conda-meta/python-3.*.json"), 8):
        found = re.search(r"/python-(3\.\d+\.\d+)-[^/]*\.json$", record)
        if found:
            return found[1]
    return None


def _behind_shim(look: Look, path: str) -> str:
    """The `python3` of pyenv is a script that takes a tenth of a second; its choice stands in a file."""
    root, shims, name = path.rpartition("/shims/")
    if not shims:
        return path
    chosen = look.env.get("PYENV_VERSION")
    if not chosen:
        line = look.line(f"{root}/version")
        chosen = line.value if isinstance(line, Found) else ""
    behind = f"{root}/versions/{chosen.split(':')[0]}/bin/{name}"
    return behind if chosen and look.system.exists(behind) else path


def _ask(look: Look, path: str) -> str | None:
    answer = look.system.run((path, "-I", "-c", _ASK), 2.0)
    text = answer.value.stdout.strip() if isinstance(answer, Found) and answer.value.status == 0 else ""
    return text if re.fullmatch(r"\d+\.\d+\.\d+", text) else None
