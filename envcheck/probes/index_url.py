"""The package index that pip and uv are configured to use: variables, then their files, then the one that pip itself names.

Credentials are taken out: an URL with a password is asked without it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import first_found
from envcheck.probes.interpreter import Interpreter, target
from envcheck.probes.look import Look

_LONGEST = 500  # characters of an URL
_LINES = 2000
_SECTIONS = ("global", "install")  # of pip.conf; the later one is the more special


def configured_index(look: Look) -> Fact[str]:
    """The index that an installation here would ask."""
    return first_found(_in_order(look))


def _in_order(look: Look) -> Iterator[Fact[str]]:
    yield from _pip(look)
    yield uv_index(look)
    yield from _own_of_pip(look)


def uv_index(look: Look) -> Fact[str]:
    """The index that uv alone is configured to ask."""
    return first_found(_uv(look))


def plain_url(text: str) -> str | None:
    """An http URL without user, password, query, fragment and final slash; None for anything else."""
    text = text.strip()
    scheme, mark, rest = text.partition("://")
    if not mark or scheme.lower() not in ("http", "https") or len(text) > _LONGEST or not text.isprintable() or " " in text:
        return None
    place, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    host = place.rpartition("@")[2]
    return f"{scheme.lower()}://{host}{slash}{path}".rstrip("/") if host else None


def parse_pip_conf(text: str) -> str | None:
    """`index-url` of pip's configuration, as far as it concerns installing."""
    section, found = "", {}
    for line in text.splitlines()[:_LINES]:
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1].strip().lower()
        key, mark, value = stripped.partition("=")
        if mark and key.strip().lower().replace("_", "-").removeprefix("--") == "index-url":
            found[section] = value.strip()
    return next((found[name] for name in reversed(_SECTIONS) if found.get(name)), None)


def parse_uv_toml(text: str) -> str | None:
    """The default index of uv's configuration: `index-url`, or the `[[index]]` marked as the default."""
    table, url, default, chosen = "", "", False, None
    for line in [*text.splitlines()[:_LINES], "[]"]:
        stripped = line.strip()
        if stripped.startswith("["):
            if table == "[[index]]" and default and url:
                return url
            table, url, default = stripped.partition("#")[0].strip().replace(" ", ""), "", False
        key, mark, value = (part.strip() for part in stripped.partition("="))
        if not mark:
            continue
        if key == "index-url" and table in ("", "[pip]"):
            chosen = chosen or _quoted(value)
        elif key == "url":
            url = _quoted(value) or ""
        elif key == "default":
            default = value.partition("#")[0].strip() == "true"
    return chosen


def _quoted(value: str) -> str | None:
    mark = value[:1]
    return value[1:].partition(mark)[0] if mark in ('"', "'") and mark in value[1:] else None


def parse_own_index(text: str) -> str | None:
    """The default index as pip's own module `models/index.py` names it: the first one made there, and `simple` below it."""
    found = re.search(r"""PackageIndex\(\s*["'](https://[^"'\s]{1,200})["']""", text)
    return f"{found[1].rstrip('/')}/simple" if found else None


def _cleaned(value: str | None, source: str) -> Fact[str]:
    if value is None:
        return Absent(f"{source} sets none")
    url = plain_url(value)
    return Found(url, source) if url else Unreadable(f"{source}: no http URL")


def _of_variable(look: Look, name: str) -> Fact[str]:
    return _cleaned(look.env[name], name) if look.env.get(name) else Absent(f"no {name}")


def _of_file(look: Look, path: str, parse: Callable[[str], str | None]) -> Fact[str]:
    text = look.text(path)
    return _cleaned(parse(text.value), path) if isinstance(text, Found) else text


def _pip(look: Look) -> Iterator[Fact[str]]:
    """What pip reads, the most special first; the file of PIP_CONFIG_FILE is the least special, `/dev/null` there forbids all files."""
    yield _of_variable(look, "PIP_INDEX_URL")
    named = look.env.get("PIP_CONFIG_FILE", "")
    if named == "/dev/null":
        return
    interpreter, home = look.once(target), look.env.get("HOME", "")
    settings = look.env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    paths = [f"{interpreter.value.prefix}/pip.conf"] if isinstance(interpreter, Found) else []
    paths += [f"{settings}/pip/pip.conf", f"{home}/.pip/pip.conf", "/etc/pip.conf", "/etc/xdg/pip/pip.conf", named]
    for path in paths:
        if path.startswith("/"):
            yield _of_file(look, path, parse_pip_conf)


def _uv(look: Look) -> Iterator[Fact[str]]:
    yield _of_variable(look, "UV_DEFAULT_INDEX")
    yield _of_variable(look, "UV_INDEX_URL")
    settings = look.env.get("XDG_CONFIG_HOME") or f"{look.env.get('HOME', '')}/.config"
    for path in (look.env.get("UV_CONFIG_FILE", ""), f"{settings}/uv/uv.toml", "/etc/uv/uv.toml"):
        if path.startswith("/"):
            yield _of_file(look, path, parse_uv_toml)


def _own_of_pip(look: Look) -> Iterator[Fact[str]]:
    """Read from the file, for importing pip would take a tenth of a second and could be anyone's code."""
    interpreter = look.once(target)
    if not isinstance(interpreter, Found):
        yield Unreadable(f"no pip to read the default index from: {interpreter.why}")
        return
    for folder in _sites(interpreter.value):
        path = posixpath.join(folder, "pip/_internal/models/index.py")
        text = look.text(path, 16_384)
        if isinstance(text, Found):
            url = parse_own_index(text.value)
            yield Found(url, path) if url else Unreadable(f"{path} names no index in a known form")
    yield Unreadable("nothing is configured, and there is no pip to read the default index from")


def _sites(interpreter: Interpreter) -> tuple[str, ...]:
    """The environment's folders, and those of the installation beneath it: uv makes environments without pip."""
    beneath = tuple(f"{interpreter.base}/lib/python{interpreter.minor}/{name}" for name in ("site-packages", "dist-packages"))
    return tuple(dict.fromkeys((*interpreter.sites, *beneath, f"{interpreter.base}/lib/python3/dist-packages")))
