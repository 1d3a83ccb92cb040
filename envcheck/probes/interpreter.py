"""The target interpreter, its environment, and where its packages lie: read from files; it is started only where they do not say."""

from __future__ import annotations

import posixpath
import re

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.look import Look

_ASK = "import sys; print('%d.%d.%d' % sys.version_info[:3])"


class Interpreter(msgspec.Struct, frozen=True):
    """`prefix` holds the environment, `base` the installation beneath; `version` `X.Y.Z` or only `X.Y`; `sites` in import order."""

    executable: str
    prefix: str
    base: str
    version: str | None
    environment: str
    sites: tuple[str, ...]

    @property
    def minor(self) -> str | None:
        """`X.Y`."""
        return ".".join(self.version.split(".")[:2]) if self.version else None


def target(look: Look) -> Fact[Interpreter]:
    """`--python`, else the active environment, else `python3` on PATH, else the interpreter running us."""
    for path, source in _candidates(look):
        if path and look.system.exists(path):
            return Found(_describe(look, path), source)
        if source == "--python":
            return Unreadable(f"--python {look.python}: no such interpreter")
    return Absent("no python3 on PATH")


def _candidates(look: Look) -> list[tuple[str | None, str]]:
    chosen: list[tuple[str | None, str]] = []
    if look.python is not None:
        return [(given(look, look.python), "--python")]
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if look.env.get(variable, "").startswith("/"):
            chosen.append((posixpath.join(look.env[variable], "bin/python"), variable))
    chosen.append((look.system.which("python3"), "python3 on PATH"))
    if look.own:
        chosen.append((look.own.executable, "this interpreter"))
    return chosen


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


def _describe(look: Look, path: str) -> Interpreter:
    prefix = posixpath.dirname(posixpath.dirname(path))
    settings = look.text(posixpath.join(prefix, "pyvenv.cfg"))
    if isinstance(settings, Found):
        return _virtual(look, path, prefix, parse_pyvenv(settings.value))
    if look.system.exists(posixpath.join(prefix, "conda-meta/history")):
        return _installed(look, path, prefix, _conda_version(look, prefix), "conda")
    real_path = _behind_shim(look, path)
    real = look.system.resolve(real_path)
    where = real.value if isinstance(real, Found) else real_path
    kind = "uv" if "/uv/python/" in where else "system"
    return _installed(look, path, posixpath.dirname(posixpath.dirname(where)), path_version(where), kind)


def _virtual(look: Look, path: str, prefix: str, settings: dict[str, str]) -> Interpreter:
    home = settings.get("home", "")
    base = posixpath.dirname(home.rstrip("/")) if home.startswith("/") else prefix
    version = settings.get("version_info") or settings.get("version") or ""
    numbers = re.match(r"\d+\.\d+(?:\.\d+)?", version)
    found = numbers[0] if numbers else _own_version(look, prefix) or _ask(look, path)
    sites = _environment_sites(prefix, found)
    if settings.get("include-system-site-packages", "").lower() == "true":
        sites += _system_sites(look, base, found)
    return Interpreter(path, prefix, base, found, "uv" if "uv" in settings else "venv", sites)


def _installed(look: Look, path: str, prefix: str, version: str | None, kind: str) -> Interpreter:
    found = _own_version(look, prefix) or version or _ask(look, path)
    sites = _environment_sites(prefix, found) if kind == "conda" else _system_sites(look, prefix, found)
    return Interpreter(path, prefix, prefix, found, kind, sites)


def path_version(path: str) -> str | None:
    """The version in an interpreter's real path: `/usr/bin/python3.10` → `3.10`, `…/cpython-3.12.8-linux…/bin/python3.12` → `3.12.8`."""
    minor = re.search(r"/python(3\.\d{1,2})$", path)
    full = re.search(r"/(?:cpython-)?(3\.\d{1,2}\.\d{1,2})(?:[-+][^/]*)?/bin/python[\d.]*$", path)
    if full and (not minor or full[1].startswith(minor[1] + ".")):
        return full[1]
    return minor[1] if minor else None


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


def _lib(version: str | None) -> str:
    return "python" + ".".join(version.split(".")[:2]) if version else "python3"


def _environment_sites(prefix: str, version: str | None) -> tuple[str, ...]:
    return tuple(f"{prefix}/{lib}/{_lib(version)}/site-packages" for lib in ("lib", "lib64"))


def _system_sites(look: Look, prefix: str, version: str | None) -> tuple[str, ...]:
    """The user's packages, then the administrator's, then the distribution's; Debian and the RPM family name their folders differently."""
    name, home = _lib(version), look.env.get("HOME", "")
    local = "/usr/local" if prefix == "/usr" else prefix
    user = (f"{home}/.local/lib/{name}/site-packages",) if home.startswith("/") else ()
    return tuple(
        dict.fromkeys(
            (
                *user,
                f"{local}/lib/{name}/dist-packages",
                f"{local}/lib/{name}/site-packages",
                f"{local}/lib64/{name}/site-packages",
                f"{prefix}/lib/python3/dist-packages",
                f"{prefix}/lib/{name}/site-packages",
                f"{prefix}/lib64/{name}/site-packages",
            )
        )
    )
