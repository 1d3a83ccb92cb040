"""What the settings of container engines say of NVIDIA's runtime: docker's JSON, containerd's and CRI-O's TOML.

TOML is searched line by line: these few words decide, and an engine's file may be of any version.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any

import msgspec

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import first_found, named
from envcheck.probes.look import Look
from envcheck.system.port import READ_LIMIT

_DOCKER = ("/etc/docker/daemon.json", "/var/snap/docker/current/config/daemon.json")
_CONTAINERD = ("/etc/containerd/config.toml", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml")
_CONTAINERD_MORE = ("/etc/containerd/conf.d/*.toml", "/etc/containerd/config.d/*.toml")
_CRIO = ("/etc/crio/crio.conf",)
_CRIO_MORE = ("/etc/crio/crio.conf.d/*",)
_HOOKS = ("/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json", "/etc/containers/oci/hooks.d/oci-nvidia-hook.json")
_MOST_FILES = 16
_PREFIX = "native.cgroupdriver="


class DockerSettings(msgspec.Struct, frozen=True, rename="kebab"):
    """The part of docker's `daemon.json` that decides."""

    runtimes: dict[str, Any] | None = None
    default_runtime: str | None = None
    exec_opts: list[str] | None = None


def parse_daemon(data: bytes) -> DockerSettings | None:
    """Docker's settings; None where docker could not read them either. An empty file is none at all."""
    try:
        return msgspec.json.decode(data, type=DockerSettings) if data.strip() else DockerSettings()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def _docker(look: Look) -> Fact[DockerSettings]:
    config = look.env.get("XDG_CONFIG_HOME") or posixpath.join(look.env.get("HOME", "/root"), ".config")
    return first_found(_read_daemon(look, path) for path in (*_DOCKER, posixpath.join(config, "docker/daemon.json")))


def _read_daemon(look: Look, path: str) -> Fact[DockerSettings]:
    fact = look.system.read(path)
    if not isinstance(fact, Found):
        return named(fact, path)
    settings = parse_daemon(fact.value)
    return Found(settings, path) if settings else Unreadable(f"{path} is no valid JSON of docker's")


def docker_knows(look: Look) -> Fact[bool]:
    """Whether docker has a runtime of that name, or one whose program is NVIDIA's."""
    fact = look.once(_docker)
    if not isinstance(fact, Found):
        return fact
    runtimes = fact.value.runtimes or {}
    programs = (value.get("path") for value in runtimes.values() if isinstance(value, dict))
    return Found("nvidia" in runtimes or any("nvidia-container-runtime" in str(program) for program in programs), fact.source)


def docker_default(look: Look) -> Fact[str]:
    """The runtime docker uses where none is asked for."""
    fact = look.once(_docker)
    if not isinstance(fact, Found):
        return fact
    name = fact.value.default_runtime
    return Found(name[:100], fact.source) if name else Absent(f"{fact.source} names no default-runtime")


def docker_cgroup_driver(look: Look) -> Fact[str]:
    """`systemd` or `cgroupfs` as set; without a setting docker chooses by itself."""
    fact = look.once(_docker)
    if not isinstance(fact, Found):
        return fact
    chosen = [option[len(_PREFIX) :] for option in fact.value.exec_opts or [] if option.startswith(_PREFIX)]
    return Found(chosen[-1][:40], fact.source) if chosen else Absent(f"{fact.source} sets none")


def mentions_nvidia(toml: str) -> bool:
    """Whether a line that is no comment names NVIDIA's runtime, as a table or as the program."""
    marks = ("nvidia-container-runtime", "runtimes.nvidia", "runtimes.'nvidia'", 'runtimes."nvidia"')
    return any(mark in line for line in _lines(toml) for mark in marks)


def default_runtime(toml: str) -> str | None:
    """The value of `default_runtime_name` (containerd) or `default_runtime` (CRI-O), the last one set."""
    chosen: str | None = None
    for line in _lines(toml):
        key, equals, value = line.partition("=")
        if equals and key.strip() in ("default_runtime_name", "default_runtime"):
            chosen = value.partition("#")[0].strip().strip("\"'")[:100] or chosen
    return chosen


def _lines(toml: str) -> Iterable[str]:
    return (line.strip() for line in toml.splitlines()[:5000] if line.strip() and not line.lstrip().startswith("#"))


def _texts(look: Look, files: tuple[str, ...], patterns: tuple[str, ...]) -> Fact[list[tuple[str, str]]]:
    """(path, text) of each settings file in the order they are read; later ones win. No file at all is an engine's defaults."""
    found: list[tuple[str, str]] = []
    paths = [*files, *(path for pattern in patterns for path in look.system.glob(pattern, _MOST_FILES))]
    for path in paths:
        fact = look.text(path, READ_LIMIT)
        if isinstance(fact, Unreadable):
            return fact
        if isinstance(fact, Found):
            found.append((path, fact.value))
    return Found(found, ", ".join(path for path, _ in found)) if found else Absent(f"no {' nor '.join(files)}")


def _containerd(look: Look) -> Fact[list[tuple[str, str]]]:
    return _texts(look, _CONTAINERD, _CONTAINERD_MORE)


def containerd_knows(look: Look) -> Fact[bool]:
    """Whether containerd's settings name NVIDIA's runtime."""
    return _mentioned(look.once(_containerd))


def containerd_default(look: Look) -> Fact[str]:
    """The runtime containerd's Kubernetes part uses where none is asked for."""
    fact = look.once(_containerd)
    if not isinstance(fact, Found):
        return fact
    chosen = [(name, path) for path, text in fact.value if (name := default_runtime(text))]
    return Found(*chosen[-1]) if chosen else Absent(f"{fact.source}: no default_runtime_name")


def crio_knows(look: Look) -> Fact[bool]:
    """Whether CRI-O's settings name NVIDIA's runtime, or its hook is where CRI-O looks."""
    if has_hook(look):
        return Found(True, "oci-nvidia-hook.json")
    return _mentioned(_texts(look, _CRIO, _CRIO_MORE))


def _mentioned(fact: Fact[list[tuple[str, str]]]) -> Fact[bool]:
    if not isinstance(fact, Found):
        return fact
    return Found(any(mentions_nvidia(text) for _, text in fact.value), fact.source)


def has_hook(look: Look) -> bool:
    """Whether the hook for podman and CRI-O is there."""
    return any(look.system.exists(path) for path in _HOOKS)
