"""A host's own container engines, and what of NVIDIA's toolkit is in them; within a container they are out of sight."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.container import kind
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.libraries import find_library, name_version, usual_folders
from envcheck.probes.look import Look

FIELDS = (
    *("container_runtime.engines", "container_runtime.toolkit", "container_runtime.configured"),
    *("container_runtime.default", "container_runtime.cdi", "container_runtime.cgroup_driver"),
)
# name, executables on PATH, sockets or folders of a running one. `docker` alone may be podman's, or talk to another host.
_ENGINES = (
    ("docker", ("dockerd",), ("/var/run/docker.sock", "/var/snap/docker/current")),
    ("podman", ("podman",), ()),
    ("containerd", ("containerd",), ("/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock")),
    ("cri-o", ("crio",), ("/run/crio/crio.sock",)),
    ("apptainer", ("apptainer", "singularity"), ()),
    ("enroot", ("enroot",), ()),
)
_LIBRARY = "libnvidia-container.so.1"
_OPERATOR_FOLDER = "/usr/local/nvidia/toolkit"  # where the GPU operator puts it
_TOOLS = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-container-cli")
_CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
_MOST_SPECS = 32
_NOT_ASKED = "not looked at; `envcheck probe` does"


def probe(look: Look) -> Facts:
    """All facts under `container_runtime`; unreadable within a container, which hides its host's."""
    inside = look.once(kind)
    if isinstance(inside, Found):
        return all_of(FIELDS, Unreadable(f"within a container ({inside.source}) the host's engines are out of sight"))
    if isinstance(inside, Unreadable):
        return all_of(FIELDS, inside)
    have = look.once(engines)
    return {
        "container_runtime.engines": Found(list(have), "executables and sockets"),
        "container_runtime.toolkit": first_found(_toolkit(look)),
        "container_runtime.configured": configured(look),
        "container_runtime.default": first_found(_default(look)),
        "container_runtime.cdi": Found(look.once(specifications), ", ".join(_CDI_FOLDERS)),
        "container_runtime.cgroup_driver": first_found(_cgroup_driver(look)),
    }


def engines(look: Look) -> tuple[str, ...]:
    """The engines that are here, running or not."""
    return tuple(name for name, executables, places in _ENGINES if _is_here(look, executables, places))


def _is_here(look: Look, executables: tuple[str, ...], places: tuple[str, ...]) -> bool:
    return any(look.system.which(name) for name in executables) or any(_is_engines_own(look, path) for path in places)


def _is_engines_own(look: Look, path: str) -> bool:
    """Podman puts a link to its own socket where docker's would be."""
    real = look.system.resolve(path)
    return isinstance(real, Found) and "podman" not in real.value


def _toolkit(look: Look) -> Iterator[Fact[str]]:
    """The library's file name carries the release; it and the tools are released together."""
    library = find_library(look, _LIBRARY, (*look.once(usual_folders), _OPERATOR_FOLDER))
    if isinstance(library, Found):
        real = look.system.resolve(library.value)
        version = name_version(real.value) if isinstance(real, Found) else None
        yield Found(version, real.value) if version and isinstance(real, Found) else Unreadable(f"{library.value}: no version in its name")
    else:
        yield library
    tool = next((path for path in map(look.system.which, _TOOLS) if path), None)
    if tool is None and not isinstance(library, Found):
        yield Absent(f"none of {', '.join(_TOOLS)} on PATH")
    elif look.full:
        yield _asked(look)
    else:
        yield Unreadable(_NOT_ASKED)


def _asked(look: Look) -> Fact[str]:
    answer = look.system.run(("nvidia-ctk", "--version"))
    if not isinstance(answer, Found):
        return Unreadable(f"nvidia-ctk: {answer.why}")
    version = parse_ctk(answer.value.stdout)
    return Found(version, "nvidia-ctk --version") if version else Unreadable("nvidia-ctk --version: no version in its answer")


def parse_ctk(text: str) -> str | None:
    """`NVIDIA Container Toolkit CLI version 1.17.8` → `1.17.8`."""
    found = re.search(r"\bversion v?(\d{1,4}\.\d{1,4}\.\d{1,4}(?:[-~]rc\.?\d{1,3})?)", text[:2000])
    return found[1] if found else None


def specifications(look: Look) -> list[str]:
    """The files of the Container Device Interface, of every maker; at most 32."""
    found = [path for folder in _CDI_FOLDERS for path in look.system.glob(f"{folder}/*", _MOST_SPECS)]
    return [path for path in found if path.endswith((".yaml", ".yml", ".json"))][:_MOST_SPECS]


def configured(look: Look) -> Fact[list[str]]:
    """The engines here that know the NVIDIA runtime; unreadable where one of them could not be looked at, for then the list is short."""
    from envcheck.probes import engine_settings  # noqa: PLC0415  # few hosts run containers

    have, names, refused = look.once(engines), [], None
    for name, knows in (
        ("docker", engine_settings.docker_knows),
        ("containerd", engine_settings.containerd_knows),
        ("cri-o", engine_settings.crio_knows),
    ):
        if name in have:
            fact = knows(look)
            refused = refused or (fact if isinstance(fact, Unreadable) else None)
            names += [name] if isinstance(fact, Found) and fact.value else []
    if "podman" in have and (engine_settings.has_hook(look) or any("nvidia" in path for path in look.once(specifications))):
        names.append("podman")
    return refused or Found(names, "the engines' settings")


def _default(look: Look) -> Iterator[Fact[str]]:
    """Docker's default runtime before containerd's: who has both starts containers with docker."""
    from envcheck.probes import engine_settings  # noqa: PLC0415  # few hosts run containers

    have = look.once(engines)
    yield engine_settings.docker_default(look) if "docker" in have else Absent("no docker")
    yield engine_settings.containerd_default(look) if "containerd" in have else Absent("no containerd")


def _cgroup_driver(look: Look) -> Iterator[Fact[str]]:
    if "docker" not in look.once(engines):
        yield Absent("no docker")
        return
    from envcheck.probes import engine_settings  # noqa: PLC0415  # few hosts run containers

    yield engine_settings.docker_cgroup_driver(look)
    if not look.full:
        yield Unreadable(_NOT_ASKED)
        return
    answer = look.system.run(("docker", "info", "--format", "{{.CgroupDriver}}"))
    said = answer.value.stdout.strip() if isinstance(answer, Found) and answer.value.status == 0 else ""
    yield Found(said, "docker info") if said in ("systemd", "cgroupfs", "none") else Unreadable("docker info did not tell")
