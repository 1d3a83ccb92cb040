"""The container we are in, by the marks its runtime leaves; what NVIDIA's runtime put into it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.control_group import own_groups
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.look import Look, uname
from envcheck.probes.mounts import Mount, mounts

FIELDS = ("container.kind", "container.image", "container.environment", "container.devices")
# What NVIDIA's and vLLM's images set and what their start depends on.
_IMAGE_VARIABLES = ("CUDA_VERSION", "NV_CUDA_CUDART_VERSION", "PYTORCH_VERSION", "VLLM_ENABLE_CUDA_COMPATIBILITY", "VLLM_USAGE_SOURCE")
_MOST = 100
_ROOT_MARKS = (("docker", "docker"), ("containers/storage", "podman"), ("containerd", "containerd"), ("crio", "cri-o"), ("lxc", "lxc"))
# Variables of their own, then files that only they make.
_VARIABLES = (
    *(("APPTAINER_CONTAINER", "apptainer"), ("SINGULARITY_CONTAINER", "apptainer")),
    *(("ENROOT_ROOTFS", "enroot"), ("KUBERNETES_SERVICE_HOST", "kubernetes")),
)
_FILES = (
    ("/var/run/secrets/kubernetes.io/serviceaccount", "kubernetes"),
    ("/run/.containerenv", "podman"),
    ("/.dockerenv", "docker"),
    ("/.singularity.d", "apptainer"),
)
# A group's name → who made it. Several runtimes put 64 hexadecimal digits behind the word, a v1 host a folder beneath it.
_GROUP_MARKS = (
    *(("kubepods", "kubernetes"), ("lxc.payload", "lxc"), ("docker-", "docker"), ("libpod-", "podman"), ("crio-", "cri-o")),
    *(("cri-containerd-", "containerd"), ("nerdctl-", "containerd"), ("machine-", "systemd-nspawn")),
)
_DEVICES = ("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dri/*")


def probe(look: Look) -> Facts:
    """All facts under `container`; absent outside of one."""
    fact = look.once(kind)
    if not isinstance(fact, Found):
        return all_of(FIELDS, fact)
    names = [name for name in sorted(look.env) if name.startswith("NVIDIA_") or name in _IMAGE_VARIABLES]
    from envcheck.probes.redact import redacted  # noqa: PLC0415  # few hosts are containers

    chosen = {name: redacted(name, look.env[name]) for name in names[:_MOST]}
    return {
        "container.kind": fact,
        "container.image": image(look),
        "container.environment": Found(chosen, "environment"),
        "container.devices": Found(devices(look), "/dev"),
    }


def kind(look: Look) -> Fact[str]:
    """docker, podman, kubernetes, containerd, cri-o, lxc, apptainer, enroot, systemd-nspawn, kata …; absent on a host of one's own."""
    fact = first_found(_marks(look))
    return first_found((Absent("no mark of a container"), fact)) if isinstance(fact, Absent) else fact


def _marks(look: Look) -> Iterator[Fact[str]]:
    """The cheap ones first; what only root may read is no reason to know nothing."""
    for variable, name in _VARIABLES:
        yield Found(name, variable) if variable in look.env else Absent(f"no {variable}")
    for path, name in _FILES:
        yield Found(name, path) if look.system.exists(path) else Absent(f"no {path}")
    yield _named(look.env.get("container"), "container (variable)")
    yield _by_group(look)
    yield _by_mounts(look)
    yield _told(look, "/run/systemd/container")
    yield _by_first_process(look)
    yield _by_kernel(look)


def _named(name: str | None, source: str) -> Fact[str]:
    """The word by which systemd and others pass the kind on; WSL calls itself one, and is judged as a host."""
    if not name or name == "wsl":
        return Absent(f"no {source}")
    known = name[:40] if name[:40].replace("-", "").isalnum() else "container"
    return Found("container" if known == "oci" else known, source)


def _told(look: Look, path: str) -> Fact[str]:
    fact = look.line(path)
    return _named(fact.value, path) if isinstance(fact, Found) else Absent(fact.why)


def _by_first_process(look: Look) -> Fact[str]:
    fact = look.text("/proc/1/environ", 16384)
    if not isinstance(fact, Found):
        return Absent(fact.why)
    entries = (entry.partition("=") for entry in fact.value.split("\0"))
    return _named(next((value for name, _, value in entries if name == "container"), None), "container in /proc/1/environ")


def _by_kernel(look: Look) -> Fact[str]:
    """GVisor answers for the kernel itself, with a release of its own."""
    names = look.once(uname)
    release = names.value[1] if isinstance(names, Found) else ""
    return Found("gvisor", "uname") if "gvisor" in release.lower() else Absent("the kernel is no sandbox's")


def _by_group(look: Look) -> Fact[str]:
    fact = look.once(own_groups)
    name = group_owner(fact.value) if isinstance(fact, Found) else None
    return Found(name, fact.source) if name and isinstance(fact, Found) else Absent("the control group is no container's")


def group_owner(text: str) -> str | None:
    """The runtime in the paths of `/proc/self/cgroup`; None where they name none, as from within a namespace of their own."""
    for line in text.splitlines()[:100]:
        parts = line.split(":", 2)[-1].split("/")[1:40]
        for part in parts:
            name = next((name for mark, name in _GROUP_MARKS if part.startswith(mark) and _is_container(part, mark)), None)
            if name:
                return name
        for word in ("docker", "lxc"):
            if word in parts[:-1]:
                return word
    return None


def _is_container(part: str, mark: str) -> bool:
    """A scope with a container's number; `docker-proxy.service` is a host's."""
    if not mark.endswith("-"):
        return True
    if mark == "machine-":  # machine-NAME.scope beneath machine.slice
        return part.endswith(".scope") and not part.startswith("machine-qemu")
    number = part[len(mark) :].removesuffix(".scope")
    return len(number) >= 12 and all(digit in "0123456789abcdef" for digit in number)


def _by_mounts(look: Look) -> Fact[str]:
    fact = look.once(mounts)
    if not isinstance(fact, Found):
        return fact
    name = owner(fact.value)
    if name == "container" and _first_is_init(look):
        return Absent("an overlay root beneath a host's own init: a diskless or read-only host")
    return Found(name, fact.source) if name else Absent("the root file system is no container's")


def _first_is_init(look: Look) -> bool:
    fact = look.line("/proc/1/comm")
    return isinstance(fact, Found) and fact.value in ("systemd", "init")


def owner(every: tuple[Mount, ...]) -> str | None:
    """The runtime whose layers the root is made of; `container` for an overlay root of no known one, None for a plain root."""
    for mount in every:
        if mount.file_system == "fuse.lxcfs" and mount.point.startswith("/proc/"):
            return "lxc"
        if mount.point == "/" and mount.file_system in ("overlay", "fuse-overlayfs", "fuse.fuse-overlayfs", "aufs"):
            return next((name for mark, name in _ROOT_MARKS if mark in mount.options), "container")
        if mount.point == "/" and mount.source == "kataShared":
            return "kata"
    return None


def image(look: Look) -> Fact[str]:
    """The image's name, where the runtime tells it: podman in a file, apptainer in a variable."""
    return first_found(_images(look))


def _images(look: Look) -> Iterator[Fact[str]]:
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        yield Found(look.env[variable][:300], variable) if look.env.get(variable) else Absent(f"no {variable}")
    fact = look.text("/run/.containerenv", 4096)
    named = re.search(r'^image="([^"]{1,300})"', fact.value, re.MULTILINE) if isinstance(fact, Found) else None
    yield Found(named[1], "/run/.containerenv") if named else Unreadable("the runtime does not tell it")


def devices(look: Look) -> list[str]:
    """The device files of GPUs: NVIDIA's, their capabilities (MIG), the graphics subsystem's, WSL's; at most 100."""
    found = [path for pattern in _DEVICES for path in look.system.glob(pattern, _MOST) if path != "/dev/nvidia-caps"]
    wsl = ["/dev/dxg"] if look.system.exists("/dev/dxg") else []
    return [*found[:_MOST], *wsl]
